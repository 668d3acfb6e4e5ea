"""How often intervals hold the truth: a few cells of the table in docs/audit.md, on fewer samples."""

import importlib.util
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "covered.py"
SAMPLES = 150
LEAST = 0.95 - 3 * (0.95 * 0.05 / SAMPLES) ** 0.5  # three standard errors below what is said
MOST = 0.025 + 3 * (0.025 * 0.975 / SAMPLES) ** 0.5


@pytest.fixture(scope="module")
def benchmark():
    spec = importlib.util.spec_from_file_location("coverage_of_audits", BENCHMARK)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("form", "rows"),
    [
        ("one rate of a mixture of two, 0.9", 30),
        ("one rate, log-normal weights", 30),
        ("two groups of n, 0.9 - 0.8", 10),
        ("a group of about n within everyone", 10),
        pytest.param("mean over 50 groups of n, 0.1", 5, marks=pytest.mark.slow),
        ("10 groups at 0.9 less 10 at 0.1", 5),
        ("wins less losses", 10),
        ("recall at 0.2 less recall at 0.9", 30),
        ("roc_auc, 0.96", 100),
        ("roc_auc of a score of two values, 0.65", 30),
    ],
)
def test_coverage(benchmark, form, rows):
    covered, kept_wrongly, broken_wrongly = benchmark.simulate(form, rows, SAMPLES)
    assert covered >= LEAST
    assert kept_wrongly <= MOST
    assert broken_wrongly <= MOST


def test_the_documented_table_names_every_form(benchmark):
    text = (BENCHMARK.parents[1] / "docs" / "audit.md").read_text()
    for form in benchmark.FORMS:
        assert f"| {form} " in text
