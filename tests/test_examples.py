"""Every example runs from beginning to end, and shows what it says it shows."""

import ast
import re
import runpy
from importlib.util import find_spec
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


def promise_is_kept_on_training_rows_and_on_new_ones(said):
    assert re.findall(r"(\d of \d) promises kept on", said) == ["1 of 1", "1 of 1"]
    assert len(set(re.findall(r"minimize .*", said))) == 2  # of two sets of rows


def three_promises_of_three_kinds_are_kept(said):
    assert "feasible: every constraint is kept on the training rows" in said
    ours, plain = (re.findall(r"[\d.]+", line) for line in said.splitlines()[-2:])
    assert float(ours[-1]) < 10.1 < float(plain[-1])  # the L1 norm, with the budget and without


def unseen(*rows_and_columns, layout, **options):
    """A picture that no window shows."""
    from matplotlib.figure import Figure

    figure = Figure(layout=layout)
    return figure, figure.subplots(*rows_and_columns, **options)


SHOWN = {
    "no_pure_equilibrium": iterates_swing_and_the_mixture_does_not,
    "own_constraints": three_promises_of_three_kinds_are_kept,
    "adult": promises_are_kept_on_the_rows_trained_on,
    **dict.fromkeys(
        ("loop_pytorch", "loop_lightning", "loop_huggingface", "loop_jax"),
        promise_is_kept_on_training_rows_and_on_new_ones,
    ),
}


# Lightning asks PyTorch for a class by a name that PyTorch has deprecated since.
@pytest.mark.filterwarnings("ignore:GPU available but not used")  # the examples need none,
@pytest.mark.filterwarnings("ignore:.*does not have many workers")  # nor many cores
@pytest.mark.filterwarnings("ignore:.*LeafSpec.* is deprecated")
@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_example_runs(path, capsys, monkeypatch):
    if find_spec("matplotlib"):
        monkeypatch.setattr("matplotlib.pyplot.show", lambda: None)
        monkeypatch.setattr("matplotlib.pyplot.subplots", unseen)
    for library in ("torch", "jax", "dask.distributed", "lightning", "transformers"):
        if re.search(rf"^(import|from) {library}\b", path.read_text("utf-8"), re.MULTILINE):
            pytest.importorskip(library)
    runpy.run_path(str(path), run_name="__main__")
    said = capsys.readouterr().out
    assert said
    if path.stem in SHOWN:
        SHOWN[path.stem](said)


def parts_of(text):
    """How many lines of code an example has, and how many of them its promise.

    Blank lines, comments and the docstring are not code. A paragraph that begins with `# Promise:`
    belongs to the promise, up to the end of its last statement.
    """
    tree = ast.parse(text)
    ends = {node.lineno: node.end_lineno for node in ast.walk(tree) if isinstance(node, ast.stmt)}
    said = [line.strip() for line in text.splitlines()]
    code = {n for n, line in enumerate(said, 1) if line and line[0] != "#"}
    code -= set(range(1, tree.body[0].end_lineno + 1))
    promise = set()
    for first in (n for n, line in enumerate(said, 1) if line.startswith("# Promise:")):
        last = first
        while last < len(said) and said[last]:
            last = max(last + 1, ends.get(last + 1, 0))
        promise |= set(range(first, last + 1)) & code
    return len(code), len(promise)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("loop_*.py")), ids=lambda path: path.stem)
def test_a_loop_of_your_own_is_short_and_its_promise_shorter(path):
    lines, promise = parts_of(path.read_text("utf-8"))
    assert lines <= 40
    assert 5 <= promise <= 15
