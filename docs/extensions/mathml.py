"""Formulas as MathML, which browsers draw by themselves: no script, no fonts, no network."""

from typing import Any

from docutils import nodes
from docutils.utils.math import latex2mathml
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator


def inline(self: HTML5Translator, node: nodes.math) -> None:
    self.body.append(latex2mathml.tex2mathml(node.astext()))
    raise nodes.SkipNode


def block(self: HTML5Translator, node: nodes.math_block) -> None:
    label = f' id="{node["ids"][0]}"' if node["ids"] else ""
    formula = latex2mathml.tex2mathml(node.astext(), as_block=True)
    self.body.append(f'<div class="formula"{label}>{formula}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
