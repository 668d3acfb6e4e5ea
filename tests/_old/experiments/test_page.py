"""The page of all tables: well formed, whole in itself, honest about stand-ins."""

import struct
from html.parser import HTMLParser

import pytest

from ratebound_experiments.charts import oscillation, png, trade_off
from ratebound_experiments.page import page
from ratebound_experiments.running import run
from ratebound_experiments.tables import STAND_IN, reproduced

from .tiny import tiny

VOID = {"meta", "img", "br", "hr", "link", "input"}


class Outline(HTMLParser):
    """Checks that tags nest, and notes what is referred to."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.sources, self.ids = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.sources += [value for name, value in attrs if name in ("src", "href")]
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def played():
    return [run(tiny("adult"), seed) for seed in range(2)]


def table_of(name, played, **changed):
    return reproduced(tiny(name, **changed), played)


def test_nothing_is_loaded_from_elsewhere(played):
    pytest.importorskip("matplotlib")
    tables = [table_of("adult", played), table_of("filtering", played[:1], stand_in=True)]
    figures = {
        "adult": {"trade": png(trade_off(tables[0])), "swings": png(oscillation(played[0], tables[0]))}
    }
    written = page(tables, figures)
    outline = Outline()
    outline.feed(written)
    assert outline.open == []
    assert outline.tags.count("img") == 2
    assert {source.partition(";")[0] for source in outline.sources} == {
        "data:image/png",
        "#adult",
        "#filtering",
    }
    assert outline.ids == ["adult", "filtering"]
    assert "://" not in written
    assert "script" not in outline.tags
    assert "url(" not in written
    assert "@import" not in written


def test_stand_ins_and_deviations(played):
    tables = [table_of("adult", played), table_of("filtering", played[:1], stand_in=True)]
    alone, stand_in = page(tables[:1], {}), page(tables[1:], {})
    assert "tand-in" not in alone.replace(".stand-in", "")
    assert STAND_IN in stand_in
    assert stand_in.count("(stand-in data)") == 2
    assert "Published, other data" in stand_in
    assert alone.count("<small>±") == 13 * 6
    assert "<small>" not in stand_in


def test_words_are_escaped(played):
    written = page(
        [table_of("adult", played, title="<b>&", words="<i>x</i>")], {"adult": {'"><u>': b""}}
    )
    assert "&lt;b&gt;&amp;" in written
    for tag in ("<b>", "<i>", "<u>"):
        assert tag not in written


@pytest.mark.parametrize("stand_in", [False, True])
def test_figures_are_pngs(played, stand_in):
    pytest.importorskip("matplotlib")
    table = table_of("adult", played, stand_in=stand_in)
    for figure in (trade_off(table), oscillation(played[0], table)):
        said = " ".join(text.get_text() for text in figure.findobj(lambda a: hasattr(a, "get_text")))
        assert ("stand-in data" in said) == stand_in
        content = png(figure)
        assert content.startswith(b"\x89PNG")
        assert min(struct.unpack(">II", content[16:24])) > 400


def test_the_swings_are_those_of_the_kept_iterates(played):
    pytest.importorskip("matplotlib")
    above, below = oscillation(played[0], table_of("adult", played)).axes
    assert [line.get_label() for line in above.lines] == ["Hinge", "0-1 swap", "0-1 ext"]
    for one, error, worst in zip(played[0][1:], above.lines, below.lines, strict=False):
        settings = [one.trace.of_setting(setting) for setting in one.trace.settings]
        assert any((error.get_ydata() == s.objectives).all() for s in settings)
        assert any((worst.get_ydata() == s.violations.max(axis=1)).all() for s in settings)
