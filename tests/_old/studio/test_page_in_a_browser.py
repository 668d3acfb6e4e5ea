"""The page in a real browser: from a CSV to a signed report, by keys alone and on a small screen."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
pytest.importorskip("uvicorn", reason="uvicorn is not installed")
pytest.importorskip("starlette", reason="Starlette is not installed")
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")

from tests._old.auditing.test_page_in_a_browser import CONTRAST  # noqa: E402

from ratebound._old.studio.server import serve  # noqa: E402

WIDER = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
PATIENCE = 60_000  # milliseconds, on a machine that is busy


@pytest.fixture(scope="module")
def served(start, tmp_path_factory):
    own = serve(replace(start, out=tmp_path_factory.mktemp("signed") / "model"))
    yield own
    own.stop()


@pytest.fixture(scope="module")
def browser():
    with api.sync_playwright() as started:
        own = started.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield own
        own.close()


def opened(browser, address, **options):
    """A page, and what it complains of."""
    page = browser.new_page(**options)
    page.set_default_timeout(PATIENCE)
    complaints = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "request", lambda request: complaints.append(request.url) if address not in request.url else None
    )
    page.goto(address)
    page.wait_for_selector("#title")
    return page, complaints


def test_from_a_csv_to_a_signed_report(served, browser, people_csv):
    page, complaints = opened(browser, served.address, viewport={"width": 1280, "height": 900})

    def checked():
        assert not page.evaluate(WIDER)
        ratio, text = page.evaluate(CONTRAST)
        assert ratio >= 4.5, text
        assert page.locator("img").count() == 0  # what a table says stays text
        assert complaints == []

    assert page.locator("text=looks protected").count() == 2
    assert page.locator("th:has-text('<img src=x')").count() == 2  # the columns, and the first rows
    checked()

    further = page.get_by_role("button", name="Continue to the promises")
    assert further.is_disabled()  # until it is said what a yes is
    assert page.get_by_label("Predict which column?").input_value() == "approved"
    to(page, "document.activeElement.name === 'yes'")  # the first value; the keys go on to the next
    page.keyboard.press("ArrowDown")
    page.wait_for_selector("nav button:has-text('Promises'):enabled")
    assert page.evaluate("document.activeElement.checked")
    assert page.locator("label:has(input[name=yes]:checked)").inner_text().startswith("yes")
    further.click()
    page.get_by_role("button", name="80% rule", exact=True).click()
    page.wait_for_selector("#evidence-0 table")
    page.get_by_role("button", name="Capacity").click()
    page.wait_for_selector("#evidence-1 table")
    page.get_by_label("column whose groups are shown").select_option(index=5)  # the one with markup
    page.wait_for_selector("tr.faint:has-text('south')")
    checked()

    page.get_by_role("button", name="Learn from the table").click()
    page.wait_for_selector("#results table")
    assert page.locator("#results tr:has-text('No to everyone')").count() == 1
    page.wait_for_selector("#freshness:has-text('Exact:')")
    plain = page.locator("#results tr:has-text('With promises') td").first.inner_text()

    slider = page.get_by_label("Capacity", exact=True)
    slider.focus()  # from here on by keys alone, to the signature
    page.keyboard.press("Home")
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    page.wait_for_function(
        "old => !document.querySelector('#results td').innerText.startsWith(old)",
        arg=plain.split("\n")[0],
    )
    assert page.get_by_label("Capacity, in %").input_value() == "5"
    page.wait_for_selector("#freshness:has-text('Exact:')")
    page.wait_for_selector("#curve svg")
    checked()

    by_keys(page, "Keep this to compare")
    page.wait_for_selector("#compared table")
    checked()
    by_keys(page, "Make and sign")
    by_keys(page, "Make the model")
    page.wait_for_selector("form[aria-label=Sign-off]")
    to(page, "document.activeElement.closest('.field')?.innerText.startsWith('Owner')")
    page.keyboard.type("Ada <b>Lovelace</b>")
    to(page, "document.activeElement.tagName === 'TEXTAREA'")
    page.keyboard.type("Loans")
    for _ in range(page.locator("input[name=limit]").count()):
        to(page, "document.activeElement.name === 'limit' && !document.activeElement.checked")
        page.keyboard.press("Space")
    by_keys(page, "Sign and write")
    page.wait_for_selector("#files table")
    checked()
    with page.expect_download() as download:
        by_keys(page, "report.html")
    report = Path(download.value.path()).read_text("utf-8")
    assert "Sign-off" in report
    assert "Ada &lt;b&gt;Lovelace" in report

    by_keys(page, "Verify")
    page.get_by_role("button", name="Verify").last.click()
    page.wait_for_selector(".checks")
    assert page.locator(".checks .bad, .checks .unsure").count() == 0
    checked()


def to(page, condition):
    """Press the tab key until the element in focus is the one."""
    for _ in range(200):
        page.keyboard.press("Tab")
        if page.evaluate(condition):
            return
    raise AssertionError(f"no key leads to {condition}")


def by_keys(page, words):
    """Go to a button or a link by the tab key, and press it."""
    to(page, f"document.activeElement.innerText === {words!r}")
    page.keyboard.press("Enter")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_step_fits_a_phone(served, browser, scheme):
    options = {"viewport": {"width": 360, "height": 740}, "color_scheme": scheme}
    page, complaints = opened(browser, served.address, **options)

    def checked(step, shown):
        page.get_by_role("button", name=step, exact=True).first.click()
        page.wait_for_selector(shown)
        assert not page.evaluate(WIDER), step
        ratio, text = page.evaluate(CONTRAST)
        assert ratio >= 4.5, (step, text)
        assert complaints == []

    checked("Table", "input[name=yes]")
    page.locator("input[name=yes]").last.check()
    page.wait_for_selector("nav button:has-text('Promises'):enabled")
    checked("Promises", "#title")
    page.get_by_role("button", name="80% rule", exact=True).click()
    page.get_by_role("button", name="Learn from the table").click()
    page.wait_for_selector("#freshness:has-text('Exact:')")
    checked("What if", "#curve svg")
    assert "null" not in page.inner_text("#results")
    checked("Compare", "#compared table")
    checked("Make and sign", "#title")
    page.get_by_role("button", name="Make the model").click()
    page.wait_for_selector("form[aria-label=Sign-off]")
    checked("Make and sign", "form[aria-label=Sign-off]")
    checked("Verify", "form[aria-label=Verify]")
    colour = "rgb(18, 22, 29)" if scheme == "dark" else "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == colour


def test_a_page_of_another_origin_reaches_nothing(served, browser):
    """Not even one that knows the address, by a request or by a frame."""
    page = browser.new_page()
    page.route("http://evil.example/", lambda route: route.fulfill(body="<h1>evil</h1>"))
    page.goto("http://evil.example/")
    ask = """async (address) => { try {
      const answer = await fetch(address + "api/start", { method: "POST", body: "{}",
        headers: { "Content-Type": "application/json" } });
      return await answer.text(); } catch (error) { return "refused"; } }"""
    assert page.evaluate(ask, served.address) == "refused"
    framed = """async (address) => { const frame = document.createElement("iframe"); frame.src = address;
      document.body.append(frame); await new Promise((done) => setTimeout(done, 500));
      return frame.contentDocument === null; }"""
    assert page.evaluate(framed, served.address)
