"""The pictures of the report and the studio in docs/images: python docs/screenshots.py takes them."""

from __future__ import annotations

import csv
import shutil
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

import ratebound as rb
from ratebound._old.studio.server import serve
from ratebound._old.studio.session import started as studio_of

IMAGES = Path(__file__).parent / "images"
SECTIONS = {"promises": "report-measured.png", "prices": "report-prices.png"}


def report() -> rb.Audit:
    """An audit of a model under the four-fifths rule and a cap, on census rows that it has not seen."""
    adult = rb.datasets.load_adult()
    promises = ['positive_rate(sex == "Female") >= 0.8 * positive_rate(sex == "Male")',
                "positive_rate() <= 0.2"]  # fmt: skip
    model = rb.RateConstrainedClassifier(promises, confidence=0.95, certify=0.3, random_state=0)
    model.fit(adult.train.X, adult.train.y, columns={"sex": adult.train.column("sex")})
    return model.audit(adult.test.X, adult.test.y, columns={"sex": adult.test.column("sex")})


def census(path: Path) -> None:
    """Write the census rows as a table, with decisions of a rule that stands for a live model."""
    people = rb.datasets.load_adult().train
    columns = {name: people.column(name) for name in people.columns if name != "fnlwgt"}
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*columns, "live_decision", "income"])
        for row, label in zip(zip(*columns.values(), strict=True), people.y, strict=True):
            own = dict(zip(columns, row, strict=True))
            live = own["education_num"] > 12 and own["hours_per_week"] > 35
            writer.writerow([*row, *(">50K" if yes else "<=50K" for yes in (live, label))])


def studio(browser: Any, folder: Path) -> None:
    """Take the picture of the studio's what-ifs, under the four-fifths rule and a capacity."""
    census(folder / "census.csv")
    served = serve(studio_of(str(folder / "census.csv"), folder / "model"))
    page = browser.new_page(viewport={"width": 1280, "height": 1000}, color_scheme="light")
    page.set_default_timeout(300_000)
    page.goto(served.address)
    page.locator("input[name=yes]").last.check()
    page.get_by_role("button", name="Continue to the promises").click()
    for name in ("80% rule", "Capacity"):
        page.get_by_role("button", name=name, exact=True).click()
    page.get_by_role("button", name="Learn from the table").click()
    page.wait_for_selector("#freshness:has-text('Exact:')")
    page.screenshot(path=IMAGES / "studio.png")
    served.stop()


def main() -> None:
    """Take every picture, in the light theme."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        path = Path(folder) / "report.html"
        report().save_html(path, title="Audit on rows it has not seen")
        browser = started.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": 1000, "height": 1150}, color_scheme="light")
        page.goto(path.as_uri())
        page.screenshot(path=IMAGES / "report.png")
        for name, file in SECTIONS.items():
            page.locator(f"#{name}").screenshot(path=IMAGES / file)
        studio(browser, Path(folder))
        browser.close()


if __name__ == "__main__":
    main()
