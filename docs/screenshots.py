"""The pictures of the report page in docs/images: python docs/screenshots.py takes them."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

import ratebound as rb

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


def main() -> None:
    """Take every picture, in the light theme."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        path = Path(folder) / "report.html"
        report().save_html(path, title="Audit on rows it has not seen")
        browser = started.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": 1000, "height": 900}, color_scheme="light")
        page.goto(path.as_uri())
        page.screenshot(path=IMAGES / "report.png")
        for name, file in SECTIONS.items():
            page.locator(f"#{name}").screenshot(path=IMAGES / file)
        browser.close()


if __name__ == "__main__":
    main()
