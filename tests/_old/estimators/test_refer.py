"""Three-way decisions: against brute force on small data, in files, in audits, and refused if wrong."""

import itertools

import numpy as np
import pandas
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

import ratebound._old as rb

REFER = "ask a person"
USER = ["referred() <= 0.15", "precision() >= 0.9", 'referred(sex == "Female") <= 1.1 * referred()']
OBJECTIVE = "error_rate(decided) + 0.2 * referred()"


def drawn(n=1500, seed=0):
    random = np.random.default_rng(seed)
    a, b = random.normal(size=(2, n))
    sex = random.choice(["Female", "Male"], n)
    positive = a + 0.5 * b + 0.3 * (sex == "Male") + 0.8 * random.normal(size=n) > 0.4
    y = np.where(positive, "yes", "no")
    doctor = np.where(random.random(n) < 0.92, y, np.where(positive, "no", "yes"))
    return pandas.DataFrame({"sex": sex, "a": a, "b": b}), y, doctor


X, Y, DOCTOR = drawn()


def model(promises, objective="error_rate()", **how):
    how = {"refer": REFER, "random_state": 0} | how
    return rb.RateConstrainedClassifier(promises, objective=objective, **how)


@pytest.fixture(scope="module")
def fitted():
    return model(USER, OBJECTIVE).fit(X, Y)


def test_it_decides_or_refers_and_keeps_its_promises(fitted):
    decisions = fitted.predict(X)
    assert set(decisions) == {"no", "yes", REFER}
    assert fitted.status_.feasible
    assert fitted.solution_.drawn == 0
    report = fitted.audit(X, Y)
    own = decisions != REFER
    assert report.kept
    assert report.promises[0].value == pytest.approx(1 - own.mean())
    assert report.promises[1].value == pytest.approx((Y == "yes")[decisions == "yes"].mean())
    wanted = (decisions != Y)[own].mean() + 0.2 * (1 - own.mean())
    assert report.objective.value == pytest.approx(wanted)
    assert report.groups[0].referred == pytest.approx(1 - own.mean())
    assert report.groups[0].accuracy == pytest.approx((decisions == Y).mean())


def test_it_is_a_classifier_of_the_labels(fitted):
    assert fitted.classes_.tolist() == ["no", "yes"]
    assert fitted.decisions_.tolist() == ["no", "yes", REFER]
    assert fitted.predict_proba(X).shape == (len(X), 2)
    assert fitted.predict_proba(X).sum(axis=1) == pytest.approx(1.0)
    chances = fitted.decision_proba(X)
    assert (fitted.decisions_[chances.argmax(axis=1)] == fitted.predict(X)).all()
    assert fitted.decision_function(X).shape == (len(X),)
    assert fitted.score(X, Y) == pytest.approx((fitted.predict(X) == Y).mean())
    assert clone(fitted).get_params()["refer"] == REFER
    scores = cross_val_score(model("referred() <= 0.1"), X, Y, cv=2)
    assert ((scores > 0.6) & (scores < 0.95)).all()


def test_a_file_decides_as_the_model_does(fitted, tmp_path):
    policy = rb.load(fitted.save(tmp_path))
    assert (policy.predict(X) == fitted.predict(X)).all()
    assert policy.predict_proba(X) == pytest.approx(fitted.predict_proba(X))
    assert str(policy.problem.objective) == OBJECTIVE
    assert policy.audit(X, Y).kept
    assert policy.decisions_.tolist() == ["no", "yes", REFER]


def test_an_onnx_file_decides_as_the_model_does(tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    numbers = X[["a", "b"]].to_numpy(dtype=np.float32)
    own = model("referred() <= 0.15").fit(numbers, Y)
    session = onnxruntime.InferenceSession(str(own.to_onnx(tmp_path / "model.onnx")))
    given = {each.name for each in session.get_inputs()}
    feeds = {"features": numbers, "key": np.zeros(len(X), dtype=np.int64)}
    feeds = {name: value for name, value in feeds.items() if name in given}
    names = [each.name for each in session.get_outputs()]
    out = dict(zip(names, session.run(None, feeds), strict=True))
    assert (own.decisions_[out["decision"]] == own.predict(numbers)).mean() > 0.999
    assert out["probability"] == pytest.approx(own.predict_proba(numbers)[:, 1], abs=1e-4)


def test_other_promises_take_no_other_fit(fitted):
    other = fitted.with_constraints(["referred() <= 0.05", "precision() >= 0.8"])
    assert other.status_.feasible
    assert (other.predict(X) == REFER).mean() <= 0.05


@pytest.mark.parametrize("labels", [(0, 1), (False, True), (2, 7)])
def test_labels_may_be_numbers(labels):
    y = np.array(labels)[(Y == "yes").astype(int)]
    own = model("referred() <= 0.15").fit(X, y)
    decisions = own.predict(X)
    assert set(decisions) == {*labels, REFER}
    assert own.score(X, y) == pytest.approx(np.mean([a == b for a, b in zip(decisions, y, strict=True)]))
    assert own.audit(X, y).kept


def test_a_population_may_say_it():
    own = rb.RateConstrainedClassifier("referred() <= 0.1", random_state=0)
    assert REFER in own.fit(rb.Population(X, Y, refer=REFER)).predict(X)
    own = model(["referred() <= 0.1", 'referred(on="pool") <= 0.1'])
    assert own.fit(rb.Population(X, Y), pool=X[:300]).status_.feasible


# --- against brute force ------------------------------------------------------------------------


def best_cutoffs(chance, y, referred):
    """The least errors of any two cutoffs on a probability that refer this share of the rows."""
    order = np.argsort(chance)
    positive = (y[order] == "yes").astype(float)
    misses = np.append(0.0, np.cumsum(positive))
    alarms = np.append(np.cumsum(1 - positive[::-1])[::-1], 0.0)
    wide = round(referred * len(y))
    low = np.arange(len(y) + 1 - wide)
    return float((misses[low] + alarms[low + wide]).min() / len(y))


@pytest.mark.parametrize(("most", "price"), [(0.15, 0.0), (1.0, 0.25), (0.1, 0.1)])
def test_it_is_as_good_on_new_rows_as_the_best_cutoffs_there(most, price):
    """Without promises about groups, the rule is only cutoffs on the probability of the label."""
    own = model([f"referred() <= {most}"], f"error_rate() + {price} * referred()").fit(X, Y)
    rows, labels, _ = drawn(20_000, seed=1)
    decisions = own.predict(rows)
    referred = (decisions == REFER).mean()
    plain = LogisticRegression().fit(X[["a", "b"]].assign(male=X["sex"] == "Male"), Y)
    chance = plain.predict_proba(rows[["a", "b"]].assign(male=rows["sex"] == "Male"))[:, 1]
    errors = ((decisions != labels) & (decisions != REFER)).mean()
    assert 0.02 < referred <= most + 0.01
    assert errors <= best_cutoffs(chance, labels, referred) + 0.008


def test_hard_labels_are_referred_as_often_as_is_allowed():
    """COMPAS: at a slightly higher price nothing is referred, and the mixture reaches far beyond."""
    table, y = rb.datasets.load_frame("compas")
    table = table[["sex", "race", "age", "priors_count", "c_charge_degree"]]
    own = model("referred() <= 0.2").fit(table, y)
    said, yes = own.predict(table), np.asarray(y) == 1
    referred = said == REFER
    assert 0.17 < referred.mean() <= 0.2
    errors = ((said == 1) != yes)[~referred].sum() / len(yes)
    chance = own.predict_proba(table)[:, 1]
    assert errors <= best_cutoffs(chance, np.where(yes, "yes", "no"), referred.mean()) + 0.005


def tiny(seed):
    """Rows with six different features, many of each; what is best there can be tried out."""
    random = np.random.default_rng(seed)
    places = np.repeat(np.arange(6), 100)
    y = np.where(random.random(600) < np.array([0.05, 0.2, 0.4, 0.6, 0.8, 0.95])[places], "yes", "no")
    return np.eye(6)[places], y, places


@pytest.mark.parametrize("seed", range(3))
def test_of_few_different_rows_it_finds_about_the_best_decisions(seed):
    """All 3**6 ways to decide six kinds of rows; one rule comes within a kind of the best of them."""
    features, y, places = tiny(seed)
    own = model(["referred() <= 0.34", "precision() >= 0.85"], OBJECTIVE, confidence=0.05)
    own.fit(features, y)
    best = np.inf
    share = np.array([(y == "yes")[places == place].mean() for place in range(6)])
    for decided in itertools.product(("no", "yes", REFER), repeat=6):
        said = np.array(decided)
        yes, no, passed = said == "yes", said == "no", said == REFER
        if not yes.any() or passed.mean() > 0.34 or share[yes].mean() < 0.85:
            continue
        errors = (share[no].sum() + (1 - share[yes]).sum()) / (~passed).sum()
        best = min(best, errors + 0.2 * passed.mean())
    report = own.audit(features, y)
    assert report.kept
    assert best - 1e-9 <= report.objective.value <= best + 0.02


def test_an_expert_decides_what_is_referred():
    table = X.assign(doctor=DOCTOR)
    own = model(['error_rate(expert="doctor") <= 0.12'], "referred()").fit(table, Y)
    decisions = own.predict(X)  # what the expert decides is not needed, nor seen
    both = np.where(decisions == REFER, DOCTOR, decisions)
    report = own.audit(X, Y, columns={"doctor": DOCTOR})
    assert report.kept
    assert report.promises[0].value == pytest.approx((both != Y).mean())
    assert 0 < (decisions == REFER).mean() < 0.5
    with pytest.raises(ValueError, match=r"is an expert.s decision"):
        model(['error_rate(expert="doctor") <= 0.12'], "referred()", features=["a", "doctor"]).fit(
            table, Y
        )


FAIR = [f'error_rate(decided and sex == "{s}") <= 1.2 * error_rate(decided)' for s in ("Female", "Male")]


@pytest.mark.parametrize("objective", ["error_rate() + 0.2 * referred()", OBJECTIVE])
def test_a_group_promise_of_ratios_is_kept_at_a_level(objective):
    own = model([*FAIR, "referred() <= 0.2"], objective, confidence=0.3).fit(X, Y)
    assert own.status_.feasible
    assert len(own.constraints_) == 4  # the ratio that both are compared with has one level
    values = [each.value / (each.bound / 1.2) for each in own.audit(X, Y).promises[:2]]
    assert max(values) <= 1.3


def test_ratios_are_compared_without_another_fit(monkeypatch):
    own = model([FAIR[0], "referred() <= 0.2"], confidence=0.3).fit(X, Y)
    monkeypatch.setattr(rb.PlugIn, "learn", None)
    tight = FAIR[0].replace("1.2", "0.9")
    other = own.with_constraints([tight, "referred() <= 0.2"])
    assert other.status_.feasible
    said, women = other.predict(X), X["sex"] == "Female"
    mine = said != REFER
    errors = [(said != Y)[mine & rows].mean() for rows in (women, mine)]
    assert errors[0] <= 0.93 * errors[1]


def test_ratios_are_compared_in_a_certificate():
    rows, labels, _ = drawn(3000)
    promises = ['precision(sex == "Female") >= 0.7 * precision()', "referred() <= 0.3"]
    own = model(promises, certify=0.3).fit(rows, labels)
    assert own.certificate_.holds
    level = own.constraints_[0].right.constant
    assert all(str(level) in str(each) for each in own.constraints_[:2])


def test_several_labels_and_a_referral():
    labels = np.where(X["a"] > 0.7, "cat", np.where(X["b"] > 0.5, "dog", "bird"))
    own = model(["referred() <= 0.1", 'recall(decided, of="cat") >= 0.8']).fit(X, labels)
    assert own.decisions_.tolist() == ["bird", "cat", "dog", REFER]
    assert own.predict_proba(X).shape == (len(X), 3)
    assert own.audit(X, labels).kept


def test_the_game_refers_too():
    how = {"method": "game", "confidence": None, "training": rb.Training(epochs=20)}
    own = model(["referred() <= 0.15", "error_rate(decided) <= 0.2"], **how).fit(X, Y)
    assert own.status_.feasible
    assert 0 < (own.predict(X) == REFER).mean() <= 0.16
    assert own.predict_proba(X).shape == (len(X), 2)


# --- statements on new rows  -------------------------------------------------------------------


def test_a_certificate_and_a_monitor_count_what_is_decided():
    own = model(["referred() <= 0.25", "error_rate(decided) <= 0.22"], certify=0.3).fit(*drawn(2500)[:2])
    one, other = own.certificate_.promises
    assert one.rows > other.rows > 0
    rows, labels, _ = drawn(2000, seed=1)
    decisions = own.predict(rows)
    fresh = own.solution_.certify(rows, labels)
    assert fresh.promises[1].value == pytest.approx((decisions != labels)[decisions != REFER].mean())
    problem = rb.Problem("error_rate()", ["referred() <= 0.02", "error_rate(decided) <= 0.5"])
    monitor = rb.Monitor(problem, classes=["no", "yes"], refer=REFER)
    monitor.update(decisions, labels)
    assert [str(alarm.constraint) for alarm in monitor.alarms] == ["referred() <= 0.02"]
    assert monitor.watches[1].rows == (decisions != REFER).sum()


def test_a_status_says_if_no_row_is_referred():
    own = model(["referred() <= 0.15", "precision() >= 0.5"], "error_rate() + 2 * referred()").fit(X, Y)
    assert REFER not in own.predict(X)
    assert "No row is referred" in str(own.status_)
    assert "No row is referred" not in str(model("referred() <= 0.1").fit(X, Y).status_)


def test_a_certificate_is_sought_in_small_steps():
    """From the safest rule, which refers none here, straight to the cheapest, the test would fail."""
    rows, labels, _ = drawn(1200, seed=2)
    own = model(["referred() <= 0.15", "precision() >= 0.75"], OBJECTIVE, certify=0.3).fit(rows, labels)
    assert own.certificate_.holds
    assert (own.predict(rows) == REFER).mean() > 0.05


def test_a_monitor_goes_on_from_its_file(tmp_path):
    problem = rb.Problem("error_rate()", ["error_rate(decided) <= 0.5"])
    monitor = rb.Monitor(problem, refer=REFER)
    monitor.update([1, 0, REFER], [1, 1, 0])
    monitor.save(tmp_path / "state.json")
    again = rb.Monitor.load(tmp_path / "state.json", problem)
    again.update([REFER, True], [0, 0])
    assert again.watches[0].rows == 3


def test_promises_hold_on_new_rows_as_often_as_is_said():
    """Six samples: with 90% asked for, all promises hold on new rows in nearly all of them."""
    many, labels, _ = drawn(40_000, seed=99)
    held, said = 0, []
    for seed in range(6):
        rows, y, _ = drawn(700, seed=seed)
        own = model(["referred() <= 0.2", "error_rate(decided) <= 0.19"]).fit(rows, y)
        decisions = own.predict(many)
        passed = decisions == REFER
        held += bool(passed.mean() <= 0.2 and (decisions != labels)[~passed].mean() <= 0.19)
        said.append(own.status_.confidence)
    assert held >= 6 * (np.mean(said) - 0.35)


# --- bad input ----------------------------------------------------------------------------------

BAD = {
    "nothing against it": ({"promises": []}, "every row would be referred"),
    "nothing decided": ({"promises": ["precision() >= 0.9"], "objective": OBJECTIVE}, "can be 0"),
    "a label": ({"promises": "referred() <= 0.1", "refer": "yes"}, "one of the labels"),
    "no text": ({"promises": "referred() <= 0.1", "refer": 3}, "a text"),
    "no refer": ({"promises": "referred() <= 0.1", "refer": None}, 'refer="ask a person"'),
    "decided, no refer": ({"promises": "error_rate(decided) <= 0.1", "refer": None}, "refer="),
    "no expert": (
        {"promises": 'error_rate(expert="nurse") <= 0.1', "objective": "referred()"},
        "'nurse'",
    ),
    "an area": ({"promises": ["roc_auc() >= 0.8", "referred() <= 0.1"]}, "several: bound rates"),
    "its class": (
        {"promises": ['recall(of="ask a person") >= 0.1', "referred() <= 0.1"]},
        r"is referred\(\)",
    ),
}


@pytest.mark.parametrize(("how", "words"), BAD.values(), ids=BAD)
def test_what_makes_no_sense_is_refused_with_what_to_write(how, words):
    with pytest.raises((TypeError, ValueError), match=words):
        model(**how).fit(X, Y)


EXPERTS = {
    "referral": (REFER, "'ask a person' in 1,500 rows, but an expert decides"),
    "missing": (None, "a decision is needed for every row"),
    "another": ("maybe", "holds 'maybe'"),
}


@pytest.mark.parametrize(("said", "words"), EXPERTS.values(), ids=EXPERTS)
def test_what_an_expert_cannot_say(said, words):
    with pytest.raises(ValueError, match=words):
        model(['error_rate(expert="doctor") <= 0.2'], "referred()").fit(X.assign(doctor=said), Y)


def test_groups_that_may_be_anything_are_refused():
    table = X.assign(sex=X["sex"].where(np.arange(len(X)) > 20))
    way = rb.guessed("sex", missing="anything")
    with pytest.raises(ValueError, match="worst case over missing values is not known if rows may be"):
        model(['positive_rate(sex == "Male") >= 0.2', "referred() <= 0.1"], guessed=way).fit(table, Y)


def test_a_label_that_is_the_referral():
    """Rows that were referred in the past are not labelled, and must not be learned from."""
    past = np.where(X["a"] > 2, REFER, Y)
    with pytest.raises(ValueError, match=r"one of the labels.*Leave out rows that were referred"):
        model("referred() <= 0.1").fit(X, past)
    with pytest.raises(ValueError, match="one of the labels"):
        rb.Population(X, past, refer=REFER)
