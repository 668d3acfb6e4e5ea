"""The pictures of the report page in docs/images: python docs/screenshots.py takes them."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

import ratebound as rb

IMAGES = Path(__file__).parent / "images"
SECTIONS = {"promises": "report-measured.png", "prices": "report-prices.png"}


def report() -> rb.Audit:
    """An audit of a model for people of two groups, on rows that it has not seen."""
    rng = np.random.default_rng(0)
    n = 6000
    sex = rng.choice(["Female", "Male"], n, p=[0.35, 0.65])
    X = rng.normal(size=(n, 3)) + 0.4 * (sex == "Male")[:, None]
    y = X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=n) > 0.6
    promises = ['recall(sex == "Female") >= 0.95 * recall()', "positive_rate() <= 0.4"]
    model = rb.RateConstrainedClassifier(promises, confidence=0.9, certify=0.3, random_state=0)
    model.fit(X[:4000], y[:4000], columns={"sex": sex[:4000]})
    return model.audit(X[4000:], y[4000:], columns={"sex": sex[4000:]})


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
