"""The report page in a real browser: it fits, can be read by everyone, and says what the JSON says."""

import json
import shutil

import numpy as np
import pytest

import ratebound._old as rb

api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
EVIL = '"><img src=x onerror=alert(1)></style></script><script>alert(1)</script>'

# The least contrast of all texts that are seen, by WCAG's formula, against what is painted behind them.
CONTRAST = """() => {
  const parse = (c) => { const n = c.match(/[\\d.]+/g).map(Number);
    return n.length < 4 ? [...n, 1] : n; };
  const light = (c) => { const [r, g, b] = c.slice(0, 3).map((v) => { v /= 255;
    return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = (e) => { for (; e; e = e.parentElement) {
    const c = parse(getComputedStyle(e).backgroundColor);
    if (c[3] > 0.99) return c; } return [255, 255, 255, 1]; };
  let least = [99, ""];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, text = node.textContent.trim(), e = node.parentElement;
    const unseen = ["SCRIPT", "STYLE", "title"].includes(e.tagName) || !e.getClientRects().length;
    if (!text || unseen) continue;
    const style = getComputedStyle(e), own = e.closest("svg") ? style.fill : style.color;
    const [a, b] = [light(parse(own)), light(behind(e))].sort((x, y) => y - x);
    const found = (a + 0.05) / (b + 0.05);
    if (found < least[0]) least = [found, text.slice(0, 60)];
  }
  return least;
}"""


@pytest.fixture(scope="module")
def report():
    rng = np.random.default_rng(0)
    n = 600
    group = rng.choice(["a", EVIL], n, p=[0.6, 0.4])
    X = rng.normal(size=(n, 2)) + (group == "a")[:, None]
    y = X[:, 0] + rng.normal(size=n) > 0.5
    people = rb.Population(X, y, columns={EVIL: group})
    promises = [
        rb.recall(rb.column(EVIL) == EVIL) >= 0.8 * rb.recall(),
        rb.positive_rate() <= 0.45,
        rb.false_positive_rate(rb.column(EVIL) == "a") <= 0.4,
    ]
    problem = rb.Problem(rb.error_rate(), promises)
    trace = rb.play(rb.compile(problem, people), rb.Linear([0.02, 0.1]), rounds=60, progress=False)
    prices = tuple(rb.price(trace, promise) for promise in promises)
    return rb.audit(problem, rb.shrink(trace).recorded(prices=prices), people)


@pytest.fixture(scope="module")
def browser():
    with api.sync_playwright() as started:
        found = started.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(scope="module")
def address(report, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    report.save_html(path, title=EVIL)
    return path.as_uri()


@pytest.fixture
def opened(browser, address):
    """A function that opens the page; whatever it complains of, or asks for, is a failure."""
    complaints, contexts = [], []

    def call(**options):
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda said: complaints.append(said.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda asked: asked.url != address and complaints.append(asked.url))
        page.goto(address)
        return page

    yield call
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_and_can_be_read(opened, scheme):
    for width in (360, 768, 1280):
        page = opened(viewport={"width": width, "height": 800}, color_scheme=scheme)
        inside = page.evaluate("document.documentElement.scrollWidth")
        assert inside <= width
        least, text = page.evaluate(CONTRAST)
        assert least >= 4.5, (width, text)


def test_every_number_is_the_one_in_the_json(opened, report):
    document = json.loads(report.render("json"))
    page = opened()
    shown = page.eval_on_selector_all(
        "data", "all => all.map((e) => [e.dataset.at, e.value, e.textContent])"
    )
    assert len(shown) > 50
    for at, exact, text in shown:
        value = document
        for step in at.split("/"):
            value = value[int(step) if isinstance(value, list) else step]
        assert float(exact) == value, at
        if not text.startswith("<"):
            said = float(text.replace(",", ""))
            assert said == pytest.approx(value, abs=0.0501 if abs(value) >= 10 else 0.0000501), at


def test_markup_in_names_stays_text(opened):
    page = opened()
    assert page.title() == EVIL
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 1
    assert EVIL in page.locator("#groups").inner_text()


def test_tables_are_sorted_from_the_keyboard(opened):
    page = opened()
    head = page.locator("#promises thead th").nth(5)
    head.locator("button").focus()
    for order, reverse in (("ascending", False), ("descending", True)):
        page.keyboard.press("Enter")
        assert head.get_attribute("aria-sort") == order
        cells = page.locator("#promises tbody tr td:nth-child(6) data")
        values = cells.evaluate_all("all => all.map((e) => Number(e.value))")
        assert values == sorted(values, reverse=reverse)
        assert len(set(values)) > 1


def test_a_price_is_moved_along_from_the_keyboard(opened, report):
    page = opened()
    mover = page.locator("#prices figure input").first
    mover.focus()
    page.keyboard.press("Home")
    said = page.locator("#prices figure output").first.inner_text()
    curve = json.loads(page.locator("#prices svg").first.get_attribute("data-curve"))
    price = report.card.prices[0]
    assert price.at(curve["xs"][0]) == pytest.approx(curve["ys"][0])
    assert f"error_rate() {round(price.at(curve['xs'][0]), 4):g}" in said


def test_it_needs_no_script_and_has_its_landmarks(opened):
    page = opened(java_script_enabled=False)
    for role in ("main", "navigation", "banner", "contentinfo"):
        assert page.get_by_role(role).count() == 1
    assert page.get_by_role("button").count() == 0
    assert page.locator("#promises tbody tr").count() == 3
    assert page.locator("svg:not([role=img][aria-label])").count() == 0
    assert page.locator("th:not([scope])").count() == 0
    assert page.locator("table:not(:has(caption))").count() == 0
    for link in page.locator("nav a").all():
        assert page.locator(link.get_attribute("href")).is_visible()


@pytest.mark.parametrize("width", [360, 768, 1280, 1600])
def test_the_paper_reaches_the_edges_of_the_window(opened, width):
    for scheme in ("light", "dark"):
        page = opened(viewport={"width": width, "height": 600}, color_scheme=scheme)
        body, paper = page.evaluate(
            "['body', '.ratebound'].map("
            "(s) => getComputedStyle(document.querySelector(s)).backgroundColor)"
        )
        assert body == paper


@pytest.mark.parametrize("script", [True, False])
def test_folds_are_closed_on_a_screen_and_open_on_paper(opened, script):
    page = opened(java_script_enabled=script)
    inside = page.locator("#formulas table")
    assert not inside.is_visible()
    page.emulate_media(media="print")
    assert inside.bounding_box()["height"] > 20
    page.emulate_media(media="screen")
    page.locator("#formulas summary").click()
    inside.wait_for()  # until it is visible, or it raises


def test_a_link_opens_the_fold_that_it_leads_to(opened):
    page = opened()
    page.locator("nav a[href='#checking']").click()
    page.locator("#checking table").first.wait_for()  # until it is visible, or it raises


def test_dots_come_before_any_table(opened, report):
    page = opened()
    dots = page.locator("main svg.dots g")
    assert dots.count() >= len(report.promises)
    below = dots.first.bounding_box()["y"]
    assert below < page.locator("main table").first.bounding_box()["y"]
    assert dots.first.get_attribute("data-at") == "promises/0"


def test_it_prints_on_a4(opened):
    content = opened().pdf(prefer_css_page_size=True)
    sizes = {part.split(b"]")[0] for part in content.split(b"/MediaBox [")[1:]}
    assert sizes
    for size in sizes:
        width, height = list(map(float, size.split()))[2:]
        assert (width, height) == pytest.approx((595, 842), abs=1.5)


def test_what_to_decide_by_prints_on_two_sheets(opened):
    page = opened()
    page.evaluate(
        """() => { let each = document.querySelector("section.fresh");
        while (each) { const next = each.nextElementSibling; each.remove(); each = next; }
        document.querySelector("footer").remove(); }"""
    )
    assert page.pdf(prefer_css_page_size=True).count(b"/MediaBox") <= 2
