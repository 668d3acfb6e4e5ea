"""The directive `commands`: every command with its arguments, as the parser itself has them."""

import argparse
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from ratebound._old.arguments import parser


def arguments(command: argparse.ArgumentParser) -> nodes.definition_list:
    """A term for every argument as it is typed, and its words."""
    formatter, found = command._get_formatter(), nodes.definition_list()
    for action in command._actions:
        typed, words = formatter._format_action_invocation(action), formatter._expand_help(action)
        term = nodes.term("", "", nodes.literal(typed, typed))
        found += nodes.definition_list_item("", term, nodes.definition("", nodes.paragraph("", words)))
    return found


class Commands(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        whole = parser()
        (commands,) = (a for a in whole._actions if isinstance(a, argparse._SubParsersAction))
        sections: list[nodes.Node] = [nodes.literal_block(whole.epilog, whole.epilog, language="text")]
        for name, command in commands.choices.items():
            section = nodes.section("", nodes.title("", name), ids=[nodes.make_id(f"ratebound-{name}")])
            section += nodes.paragraph("", command.description)
            usage = command.format_usage()
            section += nodes.literal_block(usage, usage, language="text")
            section += arguments(command)
            sections.append(section)
        return sections


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
