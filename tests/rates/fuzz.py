"""Mutated texts: each is read and prints as a text that reads the same, or is a ValueError.

The suite tries 3,000; ``python tests/rates/fuzz.py 30000`` tries more.
"""

import random
import sys
from collections import Counter

import ratebound as rb

PIECES = ['"', "'", "(", ")", " and ", " or ", "not ", ",", "=", "==", "<=", ">=", "<", "0.5",
          "recall()", "%", " in ", "95%", "1e-3%", "*", "/", "-", "+", "abs(", "\\", "“", "≥",
          "missing(", "column(", "True", "é", "\n", "\u2028", "decided", "0", "1e999", "\x00",
          "9" * 400]  # fmt: skip
WORDS = ["sex", "0.9", "()", "recall", "age < 25", ">=", "slack=0.1", "site"]
REPLACEMENTS = ["race", "1e-3", "(age <= 3)", "precision", "sex in ('a', 3)", "<=", "at=0.5",
                "of=True", '"a b"', "missing(x)", "precision() / recall()", "0"]  # fmt: skip
MOST_REMOVED = 6  # characters at a time
DEPTHS = (50, 500, 5_000)
NESTED = [  # start, what opens a level, middle, what closes a level, end
    ("recall(", "(", "a == 1", ")", ") >= 1"),
    ("recall(", "not ", "a == 1", "", ") >= 1"),
    ("recall(a == 1", " and b == 1 or c == 1", "", "", ") >= 0.5"),
    ("", "-", "recall()", "", " >= 1"),
    ("", "(", "recall()", ")", " >= 1"),
    ("", "abs(", "recall()", ")", " <= 1"),
    ("", "1 + ", "recall()", "", " <= 1"),
    ("", "[", "1", "]", ""),
    ("", "x", "", ".x", ""),
]


def mutate(random_: random.Random, text: str) -> str:
    """Return the text with one to three changes."""
    for _ in range(random_.choice([1, 1, 1, 2, 3])):
        if random_.random() < 0.4:
            word = random_.choice(WORDS)
            text = text.replace(word, random_.choice(REPLACEMENTS), 1)
        else:
            text = change_characters(random_, text)
    return text


def change_characters(random_: random.Random, text: str) -> str:
    """Return the text with some characters removed, some inserted, or both."""
    start = random_.randint(0, len(text))
    stop = start
    inserted = ""
    kind = random_.random()
    if kind < 0.5:
        inserted = random_.choice(PIECES)
    if kind > 0.3:
        stop += random_.randint(1, MOST_REMOVED)
    return text[:start] + inserted + text[stop:]


def try_text(text: str) -> str:
    """Return what became of a text: "read", "refused", or what is wrong."""
    try:
        constraint = rb.parse(text)
    except ValueError as error:
        return describe_refusal(text, str(error))
    except Exception as error:  # whatever it is, it must not happen
        return f"raises {type(error).__name__}: {text!r}"
    printed = str(constraint)
    if not printed.isprintable():
        return f"prints several lines: {text!r}"
    again = rb.parse(printed)
    if again != constraint or str(again) != printed:
        return f"does not read back: {text!r} as {printed!r}"
    return "read"


def describe_refusal(text: str, message: str) -> str:
    if not message.startswith("cannot read"):
        return f"is refused without being shown: {text!r}: {message}"
    if "\n" in message:
        return f"is refused in several lines: {text!r}"
    return "refused"


def fuzz(texts: list[str], count: int, seed: int = 0) -> Counter[str]:
    """Return how often each outcome occurred among so many mutated texts."""
    random_ = random.Random(seed)
    outcomes: Counter[str] = Counter()
    for _ in range(count):
        text = mutate(random_, random_.choice(texts))
        outcomes[try_text(text)] += 1
    return outcomes


if __name__ == "__main__":
    from documented import documented_texts

    outcomes = fuzz(documented_texts(), int(sys.argv[1]))
    for outcome, number in outcomes.most_common():
        print(f"{number:7,}  {outcome}")
    sys.exit(len(outcomes - Counter(read=sys.maxsize, refused=sys.maxsize)) > 0)
