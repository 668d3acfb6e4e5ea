"""How each format renders a document; and our own documents agree with their data."""

import json
import re
from dataclasses import fields, is_dataclass
from html.parser import HTMLParser

import numpy as np
import pytest

import ratebound._old as rb
from ratebound._old.base.document import (
    Bar,
    Bullets,
    Chart,
    ChartMark,
    Conclusion,
    Datum,
    Document,
    Dot,
    DotChart,
    Fact,
    Head,
    Panel,
    Paragraph,
    Quoted,
    Remark,
    ReportTable,
    Section,
    Standing,
    Whisker,
    count,
    rate,
)
from ratebound._old.base.rendering import (
    FORMATS,
    Documented,
    as_fragment,
    as_json,
    as_markdown,
    as_page,
    as_text,
)

EVIL = "<script>alert(1)</script>|a*b_c`d`[e](f)\x1b[2J\n# g"
TABLE = ReportTable(
    "Promises",
    (Head("promise", "words"), Head("value"), Head("room", "drawing"), Head("", "verdict")),
    (
        (
            Quoted("recall() >= 0.9"),
            rate(0.95, "promises/0", sign=">="),
            Whisker("[0, 1]", "from 0 to 1", (-1.0, 1.0), 0.5, (0.0, 1.0), "kept"),
            Standing("kept", "kept"),
        ),
        (EVIL, (count(12), "of 24"), Bar(rate(0.5), 0.4), Standing("BROKEN", "broken")),
    ),
)
CHART = Chart(
    "how it went", "round", "error", (0.0, 2.0), (0.0, 1.0),
    curves=(([0, 1, 2], [0.5, 0.4, 0.3]),),
    points=([1.0], [0.5]),
    marks=(ChartMark("solution", 2.0, 0.3, "now"),),
    bands=((0.0, 1.0, "certified"),),
    bound=1.5,
    caption=(Quoted("recall() >= 0.9"), "costs nothing"),
    movable=True,
)  # fmt: skip
DOCUMENT = Document(
    title="Title",
    lead="What it is about",
    parts=(
        Fact("minimize error_rate()", rate(0.25), "[0.2, 0.3]"),
        TABLE,
        Paragraph("right below", apart=False),
        Remark("small print"),
        Section("Inside", (Bullets(("one", Quoted("two"))), CHART), "inside"),
    ),
    data=lambda: {"promises": [0.95]},
    conclusion=Conclusion("one is broken.", "broken", "Broken", ("Note this.",)),
    footer="the end",
)


class Seen(HTMLParser):
    """The tags of a page, checked to be nested, and its words."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.words = [], [], []
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def test_a_text_has_the_conclusion_last_and_no_small_print():
    assert as_text(DOCUMENT).splitlines() == [
        "What it is about",
        "",
        "minimize error_rate(): 0.2500 [0.2, 0.3]",
        "",
        "promise".ljust(54) + "    value    room",
        "─" * 79,
        "recall() >= 0.9".ljust(54) + ">= 0.9500  [0, 1]  kept",
        r"<script>alert(1)</script>|a*b_c`d`[e](f)\x1b[2J\n# g".ljust(54) + " 12 of 24  0.5000  BROKEN",
        "right below",
        "",
        "Inside",
        "",
        "   - one",
        "   - two",
        "",
        "   recall() >= 0.9",
        "   costs nothing",
        "",
        "one is broken.",
        "Note this.",
    ]


def parsed_markdown(text):
    """As the parser of another project reads it."""
    markdown = pytest.importorskip("markdown_it").MarkdownIt("commonmark").enable("table")
    return markdown.render(text)


def test_markdown_is_read_by_markdown_as_it_was_meant():
    seen = Seen(parsed_markdown(as_markdown(DOCUMENT)))
    words = "".join(seen.words)
    assert seen.tags.count("tr") == 3
    assert seen.tags.count("th") == seen.tags.count("td") / 2 == 4
    assert [tag for tag in seen.tags if tag in ("h1", "h2", "script", "a")] == ["h1", "h2"]
    assert EVIL.replace("\x1b", r"\x1b").replace("\n", r"\n") in words
    for said in ("small print", "Broken.", "One is broken.", "recall() >= 0.9", "the end"):
        assert said in words
    assert "`` a`b ``".replace(" ", "") in as_markdown(quoting("a`b"))
    assert "`a\\|b`" in as_markdown(quoting("a|b"))


def quoting(words):
    table = ReportTable("", (Head("", "words"),), ((Quoted(words),),))
    return Document("", "", (table,), dict)


@pytest.mark.parametrize("write", [as_page, as_fragment])
def test_html_has_everything_and_runs_nothing_of_it(write):
    seen = Seen(write(DOCUMENT))
    words = "".join(seen.words)
    assert EVIL in words
    assert seen.tags.count("script") == (write is as_page)
    assert seen.tags.count("svg") == 3
    assert seen.tags.count("data") == 4
    assert ("id=" in write(DOCUMENT)) == (write is as_page)
    for said in ("Title", "small print", "Broken", "One is broken.", "≥ ", "0.9500", "broken"):
        assert said in words


DOTS = DotChart(
    "two dots",
    (
        Panel(
            "Rates", (Dot(EVIL, "0.5000, kept", 0.5, (0.4, 0.6), 0.3, "kept", "rates/0"),), (0.0, 1.0)
        ),
        Panel("Counts", (Dot("n" * 60, "12", 12.0),), (0.0, 40.0)),
    ),
)


def test_a_section_without_a_name_is_on_the_page_too():
    """Beside a section with a name; what follows a section stays behind it."""
    plain = Section("Heron", (Paragraph("ibis"),))
    parts = (Paragraph("crane"), Section("Egret", (), "egret"), plain, Paragraph("stork"))
    page = as_page(Document("", "", parts, dict))
    words = "".join(Seen(page).words)
    places = [words.rindex(said) for said in ("crane", "Egret", "Heron", "ibis", "stork")]
    assert places == sorted(places)
    assert page.index("crane") < page.index("<main") < page.index("stork")
    assert page.count("href=") == 2  # to skip to the report, and to the named section


def test_a_folded_section_is_closed_on_a_page_and_whole_elsewhere():
    document = Document("", "", (Section("Fold", (Paragraph("inside"),), "fold", folded=True),), dict)
    assert "<details><summary><h2" in as_page(document)
    assert "<details open" not in as_page(document)
    for write in (as_text, as_markdown, as_page, as_fragment):
        assert "inside" in write(document)


def test_dots_are_drawn_where_their_numbers_are():
    page = as_page(Document("", "", (DOTS,), dict))
    seen = Seen(page)
    assert EVIL.split("|")[0] in "".join(seen.words)
    assert seen.tags.count("circle") == 2
    assert 'cx="50.00%"' in page  # the middle of the axis
    assert 'x1="40.40%" x2="59.60%"' in page
    assert 'cx="30.80%"' in page  # 12 of 40, within margins of 2%
    assert 'data-at="rates/0"' in page
    assert as_text(Document("", "", (DOTS,), dict)).endswith("two dots")


def test_what_is_broken_shows_the_digits_that_decide():
    assert rate(40.00000003, beside=40.0).shown == "40.0"  # by rounding alone
    assert rate(40.00000003, beside=40.0, broken=True).shown == "40.00000003"
    assert rate(40.0, beside=40.00000003, broken=True).shown == "40.00000000"
    assert rate(40.0, beside=40.0, broken=True).shown == "40.0"


def test_json_is_the_data():
    assert json.loads(as_json(DOCUMENT)) == {"promises": [0.95]}


def test_a_format_that_is_not_there():
    class Made(Documented):
        def document(self):
            return DOCUMENT

    assert Made().render() == str(Made())
    assert "<title>Other</title>" in Made().render("html", title="Other")
    with pytest.raises(ValueError, match="no format 'markdwn', did you mean 'markdown'"):
        Made().render("markdwn")


# --- what the package makes --------------------------------------------------------------------------


def people(seed=0, n=300):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = X[:, 0] + rng.normal(size=n) > 0
    return rb.Population(X, y, columns={"sex": rng.choice(["F", EVIL], n)})


@pytest.fixture(scope="module")
def made():
    """Each kind of report, by its name."""
    rows, new = people(), people(1)
    promises = [rb.recall(sex=EVIL) >= 0.7 * rb.recall(), rb.positive_rate() <= 0.5]
    problem = rb.Problem(rb.error_rate(), promises)
    trace = rb.play(rb.compile(problem, rows), rb.Linear([0.02, 0.1]), rounds=40, progress=False)
    prices = tuple(rb.price(trace, promise) for promise in promises)
    model = rb.shrink(trace).recorded(prices=prices)
    certificate = rb.certify(problem, model, new)
    monitor = rb.Monitor(problem)
    for month in ("2026-03-31", "2026-04-30"):
        monitor.update(model.predict(new.X), new.y, new.columns, now=month)
    return {
        "audit": rb.audit(problem, model.recorded(certificate=certificate), new),
        "certificate": certificate,
        "monitor": monitor,
        "inspection": rb.inspect(rows),
        "rows needed": rb.rows_needed(problem, rows),
    }


MADE = ["audit", "certificate", "monitor", "inspection", "rows needed"]


def numbers(part):
    """Every number of a document that names its place in the data."""
    if isinstance(part, Datum):
        if part.at and part.value is not None:
            yield part
    elif is_dataclass(part):
        for each in fields(part):
            yield from numbers(getattr(part, each.name))
    elif isinstance(part, tuple):
        for each in part:
            yield from numbers(each)


@pytest.mark.parametrize("name", MADE)
def test_every_number_is_where_it_says(made, name):
    document = made[name].document()
    data, seen = document.data(), list(numbers(document.parts))
    assert len(seen) > 3 or name == "rows needed"
    for each in seen:
        value = data
        for step in each.at.split("/"):
            value = value[int(step) if isinstance(value, list) else step]
        assert value == each.value, each.at
        shown = each.shown.replace(",", "")
        if not re.match(r"[<>]|.*e\+", shown):
            assert float(shown) == pytest.approx(value, rel=0.06, abs=0.0501), each.at


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("form", FORMATS)
def test_each_is_written_in_every_format(made, name, form):
    written = made[name].render(form)
    assert "\x1b" not in written
    if form == "html":
        assert Seen(written).tags.count("script") == 1  # ours
    if form == "markdown":
        seen = Seen(parsed_markdown(written))
        assert not {"script", "a", "em"} & set(seen.tags)
        assert "table" in seen.tags
    if form == "json":
        json.loads(written, parse_constant=pytest.fail)
