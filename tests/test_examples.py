"""Every example runs from beginning to end, and shows what it says it shows."""

import re
import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def iterates_swing_and_the_mixture_does_not(said):
    assert said.count("swing between θ = 0.00 and 1.00") == 2
    assert said.count("worth -0.500 at violation +0.000") == 2


def promises_are_kept_on_the_rows_trained_on(said):
    train, test = said.split("\ntest, ")
    kept = [line.rsplit("  0.", 1)[1] for line in train.splitlines() if line.startswith("  recall")]
    assert len(kept) == 4
    assert all("kept" in column for column in kept)
    assert "every constraint is kept on the training rows" in test


SHOWN = {
    "no_pure_equilibrium": iterates_swing_and_the_mixture_does_not,
    "adult": promises_are_kept_on_the_rows_trained_on,
}


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_example_runs(path, capsys):
    for library in ("torch", "jax", "dask.distributed"):
        if re.search(rf"^(import|from) {library}\b", path.read_text("utf-8"), re.MULTILINE):
            pytest.importorskip(library)
    runpy.run_path(str(path), run_name="__main__")
    said = capsys.readouterr().out
    assert said
    if path.stem in SHOWN:
        SHOWN[path.stem](said)
