"""Formulas as MathML, which browsers draw by themselves: no script, no fonts, no network."""

from typing import Any

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

LOGGER = logging.getLogger(__name__)
OTHERWISE = {r"\dots": r"\ldots"}  # what docutils knows by another name


def mathml(node: nodes.math | nodes.math_block, as_block: bool) -> str:
    text = node.astext()
    for said, known in OTHERWISE.items():
        text = text.replace(said, known)
    try:
        return latex2mathml.tex2mathml(text, as_block=as_block)
    except MathError as error:
        LOGGER.warning("a formula cannot be drawn: %s", error, location=node)
        return ""


def inline(self: HTML5Translator, node: nodes.math) -> None:
    self.body.append(mathml(node, as_block=False))
    raise nodes.SkipNode


def block(self: HTML5Translator, node: nodes.math_block) -> None:
    label = f' id="{node["ids"][0]}"' if node["ids"] else ""
    self.body.append(f'<div class="formula"{label}>{mathml(node, as_block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
