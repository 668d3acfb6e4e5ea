"""The public names: `rb.play` links to the reference wherever it is code, on pages and in docstrings.

So does `docs/theory.md` to that page, by its title.
"""

import re
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

NAME = re.compile(r"rb\.([a-zA-Z_.]+)")
PAGE = re.compile(r"docs/([a-z_]+)\.md")


def make_link(transform: SphinxPostTransform, name: str, inner: nodes.Node) -> nodes.Node | None:
    """Return a link to a public name; None if the reference has none."""
    env = transform.env
    full_name = re.sub(r"^goals\.", "rates.goals.", name)
    return env.domains["py"].resolve_xref(
        env,
        env.docname,
        transform.app.builder,
        "obj",
        f"ratebound.{full_name}",
        pending_xref(),
        inner,
    )


class Names(SphinxPostTransform):
    default_priority = 5  # before references are resolved

    def run(self, **kwargs: Any) -> None:
        for literal in list(self.document.findall(nodes.literal)):
            said = NAME.match(literal.astext())
            of_reference = isinstance(literal.parent, nodes.reference | pending_xref | nodes.title)
            if said and not of_reference and (link := make_link(self, said[1], literal.deepcopy())):
                literal.replace_self(link)
            page = PAGE.fullmatch(literal.astext())
            if page and not of_reference and page[1] in self.env.found_docs:
                title = nodes.Text(self.env.titles[page[1]].astext())
                here, there = self.env.docname, page[1]
                literal.replace_self(make_refnode(self.app.builder, here, there, None, title))
        for block in list(self.document.findall(nodes.literal_block)):
            if block.rawsource == block.astext():  # pytest needs an empty line at the end
                block.rawsource = block.rawsource.rstrip()
                block[:] = [nodes.Text(block.rawsource)]
        for pending in list(self.document.findall(pending_xref)):
            if said := NAME.match(pending["reftarget"]):
                pending["reftarget"] = f"ratebound.{said[1]}"


def skipped(app: Sphinx, kind: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Skips scikit-learn's own methods, which we do not document."""
    return True if re.fullmatch("set_[a-z_]+_request", name) else None


def name_the_package(
    app: Sphinx, kind: str, name: str, member: Any, options: Any, lines: list[str]
) -> None:
    """Write `ratebound` in the examples of rooms that still stand in `_old`."""
    lines[:] = [line.replace("ratebound._old", "ratebound") for line in lines]


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("autodoc-skip-member", skipped)
    app.connect("autodoc-process-docstring", name_the_package)
    app.add_post_transform(Names)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
