"""A run file in YAML as the TOML that says the same: keys with scalars, lists, and one mapping inside.

It is no reader of YAML, and is not used as one: its only use is an error that shows what to write.
"""

from __future__ import annotations

import json
import re

ENTRY = re.compile(r"(?P<space> *)(?P<key>[A-Za-z_][\w-]*|\"[^\"]*\"|'[^']*') *:(?: +(?P<value>.*))?$")
ITEM = re.compile(r" *- +(?P<value>.*)$")
NUMBER = re.compile(r"[+-]?(\d+|\d*\.\d+|\d+\.\d*)([eE][+-]?\d+)?")
WORDS = {"true": "true", "false": "false", "yes": "true", "no": "false"}


def as_toml(text: str) -> str:
    """The TOML for a flat YAML text.

    >>> print(as_toml('data: people.csv\\nepochs: 5\\nexclude: [id, name]\\nquiet: yes'))
    data = "people.csv"
    epochs = 5
    exclude = ["id", "name"]
    quiet = true
    """
    top: list[str] = []
    inside: list[str] = []
    lists: dict[str, list[str]] = {}
    parent = ""  # the last key without a value: that of a list or of a mapping
    for number, line in enumerate(text.splitlines(), 1):
        plain = _without_comment(line).rstrip()
        if not plain.strip() or plain == "---":
            continue
        if (item := ITEM.match(plain)) and parent:
            lists.setdefault(parent, []).append(_value(item["value"]))
        elif (entry := ENTRY.match(plain)) is None:
            raise ValueError(f"line {number} is neither a key with its value nor an item of a list")
        elif entry["space"] and parent:
            inside += [f"\n[{parent}]"] * (f"\n[{parent}]" not in inside)
            inside.append(f"{entry['key']} = {_value(entry['value'] or '')}")
        elif entry["value"]:
            top.append(f"{entry['key']} = {_value(entry['value'])}")
        else:
            parent = entry["key"]
    top += [f"{key} = [{', '.join(values)}]" for key, values in lists.items()]
    return "\n".join([*top, *inside])


def _without_comment(line: str) -> str:
    """The line up to a # that is in no quotes."""
    quote = ""
    for place, letter in enumerate(line):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter == "#" and (place == 0 or line[place - 1].isspace()):
            return line[:place]
    return line


def _value(given: str) -> str:
    """A scalar or a list in brackets, as TOML has it."""
    value = given.strip()
    if value.startswith("[") and value.endswith("]"):
        parts = re.findall(r"\"[^\"]*\"|'[^']*'|[^,]+", value[1:-1])
        return f"[{', '.join(_value(part) for part in parts if part.strip())}]"
    if value.startswith(("{", "|", ">", "&", "*", "!")):
        raise ValueError(f"{value!r} is more than a text, a number or a list")
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        value = value[1:-1]
    elif NUMBER.fullmatch(value) or value in WORDS:
        return WORDS.get(value, value)
    return json.dumps(value, ensure_ascii=False)
