"""What is deployed gives the same shapes and answers before and after its file, whoever decides."""

import datetime
import json
import time
from dataclasses import replace

import numpy as np
import pytest

import ratebound._old as rb

from ..extras import pd
from ..small_tables import people
from .deployed import deciders, learners

TABLE = people(240, seed=3, slopes=(1.0, 0.0, 0.0), lift=1.0)
X, Y, _ = TABLE
GROUP, PEOPLE = TABLE.columns, TABLE.population()
PROBLEM = rb.Problem(rb.error_rate(), [rb.positive_rate(group="a") <= 0.35, rb.recall() >= 0.6])
COMPILED = rb.compile(PROBLEM, PEOPLE)

LEARNERS = learners(1)
DECIDERS = deciders(COMPILED, PEOPLE)


@pytest.fixture(scope="module", params=LEARNERS)
def trace(request):
    library, learner = LEARNERS[request.param]
    if library is not None:
        pytest.importorskip(library, reason=f"{library} is not installed")
    return rb.play(COMPILED, learner(), rounds=6, seed=0, progress=False)


@pytest.mark.parametrize("classes", [("no", "yes"), ("yes", "no"), (1, 0)], ids=str)
@pytest.mark.parametrize("decider", DECIDERS)
def test_one_shape_before_and_after(trace, decider, classes, tmp_path):
    mixture = replace(DECIDERS[decider](trace), classes=classes).calibrated(PEOPLE)
    loaded = rb.load(mixture.save(tmp_path))
    answers = []
    for model in (mixture, loaded):
        decided = model.predict(X, columns=GROUP)
        proba = model.decision_proba(X, columns=GROUP)
        ranked = model.decision_function(X, columns=GROUP)
        assert decided.shape == (240,)
        assert proba.shape == (240, 2)
        assert ranked.shape == (240,)
        assert model.classes_.tolist() == sorted(classes)
        yes = model.classes_.tolist().index(classes[1])
        said = model.member_scores(X, columns=GROUP)
        if model.decider.draw is not None:
            np.testing.assert_allclose(proba[:, yes], (said >= 0) @ model.weights, atol=1e-12)
        certain = proba.max(axis=1) == 1
        np.testing.assert_array_equal(decided[certain], model.classes_[proba.argmax(axis=1)][certain])
        keyed = model.predict(X, columns=GROUP, key=np.arange(240))
        answers.append((decided, proba, model.predict_proba(X), ranked, keyed, model.uniform(X)))
    for before, after in zip(*answers, strict=True):
        np.testing.assert_array_equal(before, after, strict=True)
    assert str(loaded) == str(mixture)
    assert loaded.rule == mixture.rule


def test_a_decision_function_speaks_for_the_second_class(trace):
    mixture = rb.last_iterate(trace)
    turned = replace(mixture, classes=("yes", "no"))
    np.testing.assert_array_equal(turned.decision_function(X), -mixture.decision_function(X))


# --- the record ----------------------------------------------------------------------------------


def mixture_on(people=PEOPLE):
    trace = rb.play(rb.compile(PROBLEM, people), rb.Linear(0.1), rounds=6, seed=0, progress=False)
    return rb.average(trace)


def of_any_kind():
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.naive_bayes import GaussianNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    coded = make_pipeline(OneHotEncoder(handle_unknown="ignore"), DecisionTreeClassifier(max_depth=2))
    return {
        "linear": (None, lambda: rb.Linear(0.1)),
        "mlp": ("torch", lambda: rb.MLP((4,))),
        "lattice": ("torch", lambda: rb.Lattice(lattices=3, rank=2, keypoints=4)),
        "lightgbm": ("lightgbm", lambda: rb.Boosted("lightgbm")),
        "xgboost": ("xgboost", lambda: rb.Boosted("xgboost")),
        "bayes": ("skops", lambda: rb.Oracle(GaussianNB())),
        "tree": ("skops", lambda: rb.Oracle(DecisionTreeClassifier(max_depth=3))),
        "forest": ("skops", lambda: rb.Oracle(RandomForestClassifier(3, max_depth=3))),
        "vectors": ("skops", lambda: rb.Oracle(SVC())),
        "coded": ("skops", lambda: rb.Oracle(coded)),
    }


@pytest.mark.parametrize("kind", of_any_kind())
def test_equal_fits_are_equal_files_and_stay_so(kind, tmp_path, monkeypatch):
    library, learner = of_any_kind()[kind]
    if library is not None:
        pytest.importorskip(library, reason=f"{library} is not installed")
    X_rounded = TABLE.population(X=X.round())
    compiled = rb.compile(PROBLEM, X_rounded)

    def saved(name):
        trace = rb.play(compiled, learner(), rounds=4, seed=0, progress=False)
        return rb.average(trace).save(tmp_path / name)

    first = saved("first")
    apart = [object() for _ in range(1000)]  # so that nothing lies where it did
    later = time.struct_time((2031, 1, 1, 12, 0, 0, 2, 1, 0))
    with monkeypatch.context() as patch:
        patch.setattr(time, "localtime", lambda *given: later)
        second = saved("second")
    del apart
    assert first.read_bytes() == second.read_bytes()
    try:
        loaded = rb.load(first)
    except ValueError as asked:
        loaded = rb.load(first, trusted=str(asked).split("--trusted ")[1].split())
    assert loaded.save(tmp_path / "third").read_bytes() == first.read_bytes()


def test_a_date_is_recorded_where_it_is_given(tmp_path):
    mixture = mixture_on()
    assert rb.load(mixture.save(tmp_path)).record.date is None
    dated = rb.load(mixture.save(tmp_path, date=datetime.date(2024, 2, 29)))
    assert dated.record.date == "2024-02-29"
    assert mixture.record.date is None
    np.testing.assert_array_equal(dated.predict(X), mixture.predict(X))


def test_a_record_says_which_rows_were_trained_on(tmp_path):
    record = rb.load(mixture_on().save(tmp_path)).record
    assert (record.seed, record.setting) == (0, 0)
    assert record.versions["numpy"] == np.__version__
    assert record.data == rb.compile(record.problem, PEOPLE).digest
    swapped = np.where(np.arange(240) == 7, ~Y, Y)
    others = {
        "a feature": TABLE.population(X=X + (np.arange(240) == 5)[:, None] * 1e-9),
        "a label": TABLE.population(y=swapped),
        "a row fewer": TABLE.population(slice(1, None)),
        "weights": TABLE.population(weights=np.full(240, 2.0)),
        "another order": TABLE.population(slice(None, None, -1)),
    }
    digests = [rb.compile(PROBLEM, people).digest for people in others.values()]
    assert len({record.data, *digests}) == 1 + len(others)


def test_tables_have_digests_too():
    tables = [
        pd.DataFrame({"x": X[:, 0], "town": np.where(Y, "Oslo", name)}) for name in ("Rome", "Bonn")
    ]
    same, other = (rb.compile(rb.Problem("error_rate()"), rb.Population(t, Y)).digest for t in tables)
    assert same == rb.compile(rb.Problem("error_rate()"), rb.Population(tables[0].copy(), Y)).digest
    assert same != other


@pytest.mark.parametrize("name", ["setting", "seed", "data", "date"])
def test_a_record_that_is_none_is_refused(name, tmp_path):
    from ratebound._old.solution.record import Record

    plain = json.loads(json.dumps(mixture_on().record.to_json()))
    assert Record.from_json(plain).setting == 0
    with pytest.raises(ValueError, match=f"the {name} in its record is"):
        Record.from_json(plain | {name: [1]})
