"""The comparison beside peers, in small: its judge, contenders that need no installing, its counts."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

import ratebound as rb

FOLDER = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def peers(monkeypatch):
    """Imports a module of the comparison by its name; none stays behind."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.syspath_prepend(str(FOLDER / "peers"))
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if str(FOLDER) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture
def rows(peers):
    """People of two columns; women score less, and a plain model says yes to them less often."""
    random = np.random.default_rng(0)
    sex, age = random.choice(["f", "m"], 400), random.choice(["old", "young"], 400)
    X = random.normal(size=(400, 3))
    X[:, 0] -= sex == "f"
    y = X[:, 0] + X[:, 1] + random.normal(size=400) > 0
    return peers("_judge").Rows(X, y, {"sex": sex, "age": age})


@pytest.fixture
def promises(peers):
    promise = peers("_judge").Promise
    return (
        promise("recall", ("sex", "f"), ">=", 0.95),
        promise("positive_rate", ("sex", "f"), ">=", 0.8, against=("sex", "m")),
        promise("false_positive_rate", ("age", "old"), "<=", slack=0.02),
    )


def test_promises_are_said_to_ratebound_in_its_words(promises):
    assert [str(promise) for promise in promises] == [
        'recall(sex == "f") >= 0.95 * recall()',
        'positive_rate(sex == "f") >= 0.8 * positive_rate(sex == "m")',
        'false_positive_rate(age == "old") <= false_positive_rate() + 0.02',
    ]


def test_the_judge_counts_as_one_would_by_hand(peers, promises):
    judge = peers("_judge")
    few = judge.Rows(
        np.zeros((6, 1)),
        np.array([True, True, False, True, False, False]),
        {"sex": np.array(list("ffffmm")), "age": np.array(["old"] * 3 + ["young"] * 3)},
    )
    chance = np.array([1.0, 0.0, 0.5, 1.0, 1.0, 0.0])
    # errors: the second, half of the third, the fifth; recall of f and of all 2/3; yes f 2.5/4, m 1/2;
    # false positives: old .5 of 1, all 1.5 of 3
    assert judge.judged(promises[:1], chance, few) == judge.Verdict(
        pytest.approx(2.5 / 6), pytest.approx((0.95 - 1) * 2 / 3)
    )
    assert judge.judged(promises[1:2], chance, few).violation == pytest.approx(0.8 / 2 - 2.5 / 4)
    assert judge.judged(promises[2:], chance, few).violation == pytest.approx(0.5 - 0.5 - 0.02)
    with pytest.raises(ValueError, match="every row"):
        judge.judged(promises, chance[:3], few)


def test_the_judge_agrees_with_the_compiler(peers, rows, promises):
    problem = rb.Problem(rb.error_rate(), [rb.parse(str(promise)) for promise in promises])
    compiled = rb.compile(problem, rb.Population(rows.X, rows.y, columns=dict(rows.columns)))
    for seed in range(5):
        yes = np.random.default_rng(seed).random(400) < 0.4
        (error,), violations = compiled.evaluate(np.where(yes, 1.0, -1.0)[None])
        verdict = peers("_judge").judged(promises, yes.astype(float), rows)
        assert verdict.error == pytest.approx(error)
        assert verdict.violation == pytest.approx(violations.max())


def test_new_labels_are_hidden_and_everyone_reads_the_same(peers, rows, promises, tmp_path):
    problems = peers("_problems")
    train = problems.drawn(400, 2 / 3, 0)
    problem = problems.Problem(
        "small", "Small", "", promises, 1, lambda _: (rows.X, rows.y, dict(rows.columns), train)
    )
    problem.write(0, tmp_path / "split.npz")
    own, new = problems.read(tmp_path / "split.npz", labels=False)
    assert new.y is None
    assert (len(own.X), len(new.X)) == (267, 133)
    assert np.array_equal(problems.read(tmp_path / "split.npz", labels=True)[0].y, rows.y[train])
    assert np.allclose(own.X.mean(axis=0), 0, atol=1e-6)


@pytest.mark.parametrize(
    ("module", "function", "keeps"),
    [("with_nothing", "logistic", False), ("with_ratebound", "linear", True)],
)
def test_contenders_that_need_no_installing(peers, rows, promises, module, function, keeps):
    if module == "with_nothing":
        pytest.importorskip("lightgbm")
    on_train, on_test = getattr(peers(module), function)(rows, rows, promises[1:2])
    verdict = peers("_judge").judged(promises[1:2], np.asarray(on_train, float), rows)
    assert np.array_equal(on_train, on_test)
    assert verdict.error < 0.4
    assert verdict.kept == keeps


def test_lines_of_user_code(peers, tmp_path):
    (tmp_path / "_loop.py").write_text(
        "def helper():\n    # why\n    return 1\n\n\ndef unused():\n    pass\n"
    )
    module = tmp_path / "with_peer.py"
    module.write_text(
        "import peer\nfrom _judge import judged\nfrom _loop import helper, unused\n\nTABLE = {}\n\n\n"
        'def fit(train):\n    """Says what it does.\n\n    At length.\n    """\n    first = helper()\n\n'
        "    return judged(\n        first\n    )\n"
    )
    assert peers("_counting").user_lines(module, "fit") == 5 + 2


def test_words_change_no_digest(peers):
    bare = peers("_running").bare
    assert bare('"""One."""\nx = 1\n') == bare('"""Another."""\n# why\nx = 1\n') != bare("x = 2\n")


def test_published_rows_are_read(peers, monkeypatch, tmp_path):
    friedler = peers("friedler_data")
    monkeypatch.setattr(friedler, "FOLDER", tmp_path)
    assert not friedler.available()
    names = [
        f"{name}_{kind}" for name in friedler.Judged.__dataclass_fields__ for kind in ("mean", "sd")
    ]
    (tmp_path / "friedler_published.csv").write_text(
        f"problem,algorithm,runs,{','.join(names)}\nricci_Race,SVM,10,0.9,0.1,0.8,0.2,1.25,0.3,0.6,0.4\n"
    )
    (row,) = friedler.published()
    assert (row.problem, row.algorithm, row.mean.accuracy, row.sd.accuracy) == (
        "ricci_Race",
        "SVM",
        0.9,
        0.1,
    )
    assert row.parity == (pytest.approx(0.8), pytest.approx(0.3 / 1.25**2))


def found_of(peers, name, errors, broken=0.0, module="with_peer"):
    running, judge = peers("_running"), peers("_judge")
    fits = [
        running.Fit(i, 1.0, judge.Verdict(e, 0.0), judge.Verdict(e, broken))
        for i, e in enumerate(errors)
    ]
    return running.Way(name, module, "fit"), tuple(fits)


@pytest.mark.parametrize(("broken", "lost"), [(0.0, 1), (0.1, 0)])
def test_a_peer_wins_where_it_keeps_as_often_and_errs_less(peers, promises, broken, lost):
    problem = peers("_problems").Problem("small", "Small", "", promises, 3, None)
    pairs = [
        found_of(peers, "ours", (0.20, 0.21, 0.22), module="with_ratebound"),
        found_of(peers, "a peer", (0.18, 0.20, 0.20), broken),
    ]
    every = [peers("_running").Found(way, problem, fits) for way, fits in pairs]
    assert len(peers("_tables").losses(every)) == lost
    assert peers("_tables").wins(every) == (0, lost, 1)
