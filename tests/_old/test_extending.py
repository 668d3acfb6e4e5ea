"""The package extended the way an outsider would: new words, used wherever ours are."""

import csv
import io
import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

import ratebound._old as rb
from ratebound._old.base.document import words_of
from ratebound._old.base.rendering import FORMATS
from ratebound._old.cli import main
from ratebound._old.rates import named
from ratebound._old.rates.grouping import GOALS
from ratebound._old.rates.kinds import KINDS, YES, Atom
from ratebound._old.rates.naming import linear


@pytest.fixture(autouse=True)
def _own_words():
    """What a test defines is forgotten after it."""
    before = [(table, dict(table)) for table in (KINDS, GOALS, FORMATS)]
    yield
    for table, kept in before:
        table.clear()
        table.update(kept)


def draw(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    sex = rng.choice(["F", "M"], n)
    X = np.column_stack([rng.normal(size=(n, 2)), sex == "F"])
    y = X[:, 0] + 0.5 * X[:, 1] - 0.4 * X[:, 2] + rng.normal(size=n) > 0.3
    return rb.Population(X, y, columns={"sex": sex, "age": rng.integers(18, 80, n)})


def wrong_yeses():
    return rb.ratio("wrong_yeses", rb.false_positives, rb.predicted_positives)


def overlap():
    right, wrong = 2 * rb.true_positives(), rb.false_positives() + rb.false_negatives()
    return rb.ratio("overlap", right, right + wrong, "Right yeses among yeses and positives.")


def needless_visits():
    return rb.rate("needless_visits", rb.false_positives, meaning="Share of visits that find nothing.")


def test_a_new_rate_is_one_line_and_speaks_like_any_rate():
    rate = needless_visits()
    promise = rate(rb.column("age") < 25, sex="F", on="pool", at=0.5) <= 0.1
    assert str(promise) == 'needless_visits(age < 25 and sex == "F", on="pool", at=0.5) <= 0.1'
    assert rb.parse(str(promise)) == promise
    assert rb.parse("needless_visits() + 0.5 * recall() >= 0.2").rates[0].kind == "needless_visits"
    with pytest.raises(ValueError, match="never above 1; did you mean"):
        rb.Problem("error_rate()", ["needless_visits() <= 5"])
    with pytest.raises(ValueError, match="less of it is better"):
        rb.Problem(maximize=rate())


@pytest.mark.parametrize("among", ["rows", "positive rows", "negative rows"])
def test_a_new_rate_is_the_share_that_it_says(among):
    counted = rb.false_negatives if among == "positive rows" else rb.false_positives
    rate, people = rb.rate("own", counted, among=among), draw()
    women, scores = people.columns["sex"] == "F", people.X[:, 0]
    kept = {"rows": women, "positive rows": women & people.y, "negative rows": women & ~people.y}[among]
    wrong = (scores >= 0) != people.y
    wrong &= people.y if among == "positive rows" else ~people.y
    compiled = rb.compile(rb.Problem("error_rate()", [rate(sex="F") <= 0]), people)
    assert compiled.evaluate(scores)[1][0] == pytest.approx(wrong[kept].mean())


def test_a_new_rate_trains_audits_certifies_and_is_saved(tmp_path):
    rate, people = needless_visits(), draw()
    problem = rb.Problem("error_rate()", [rate(sex="F") <= 0.05])
    model = rb.shrink(rb.play(rb.compile(problem, people), rb.Linear(), epochs=30, batch_size=100))
    (promise,) = rb.audit(problem, model, people).promises
    yes, women = model.decision_proba(people.X)[:, 1], people.columns["sex"] == "F"
    assert promise.value == pytest.approx((yes * ~people.y)[women].mean())
    assert promise.kept
    assert rb.certify(problem, model, draw(seed=1)).promises[0].rows > 0
    model.save(tmp_path / "model")
    assert rb.load(tmp_path / "model").problem == model.problem
    words = pickle.dumps(problem.subject_to)
    del KINDS["needless_visits"]
    with pytest.raises(ValueError, match=r"needless_visits.*no such rate.*before rb\.load"):
        rb.load(tmp_path / "model")
    with pytest.raises(ValueError, match="needless_visits is not defined in this process"):
        rb.Problem("error_rate()", pickle.loads(words))


@pytest.mark.parametrize(
    ("counted", "among", "message"),
    [
        (rb.false_positives, "positive rows", "counts rows that are not among the positive rows"),
        (rb.true_positives() + rb.predicted_positives(), "rows", "counted 2 times"),
        (rb.recall, "rows", "a share is made of counts"),
        (2 * rb.false_positives(), "rows", "counts each row once"),
        (rb.false_positives, "everyone", "among= takes one of rows, positive rows, negative rows"),
        (3, "rows", "it takes rates such as"),
    ],
)
def test_what_makes_no_rate_is_refused(counted, among, message):
    with pytest.raises((TypeError, ValueError), match=message):
        rb.rate("own", counted, among=among)


def test_a_rate_of_the_table_is_in_the_package_by_itself(monkeypatch):
    """What a contributor writes is one entry of rates/named.py."""
    own = linear(
        "own_share",
        lambda rows, of: (Atom(YES, rows & of.label, rows),),
        "Share of rows that are rightly said yes to.",
        example=("At least 3 of 100 visits find something.", "own_share() >= 0.03"),
    )
    monkeypatch.setattr(named, "own_share", own, raising=False)
    monkeypatch.setattr(named, "RATES", [*named.RATES, "own_share"])
    assert rb.own_share is own
    monkeypatch.delitem(vars(rb), "own_share")
    assert "own_share" in rb.__all__


def test_a_new_ratio_is_one_line_and_speaks_like_any_rate():
    rate = wrong_yeses()
    promise = rate(rb.column("age") < 25, sex="F", on="pool", at=0.5) <= 0.1
    assert str(promise) == 'wrong_yeses(age < 25 and sex == "F", on="pool", at=0.5) <= 0.1'
    assert rb.parse(str(promise)) == promise
    assert isinstance(promise.left, rb.Ratio)
    assert str(promise.left.numerator) == 'false_positives(age < 25 and sex == "F", on="pool", at=0.5)'
    with pytest.raises(TypeError, match="wrong_yeses does not take versus="):
        rate(versus="live")
    with pytest.raises(ValueError, match="never above 1; did you mean"):
        rb.Problem("error_rate()", ["wrong_yeses() <= 5", rate() >= 5])


def test_a_new_ratio_against_an_existing_model_asks_for_it():
    kept_right = rb.ratio("kept_right", rb.losses, rb.wins)
    assert str(kept_right(versus="live") <= 2) == 'kept_right(versus="live") <= 2.0'
    with pytest.raises(TypeError, match="kept_right: versus= takes the column"):
        kept_right()


@pytest.mark.parametrize("define", [wrong_yeses, overlap])
@pytest.mark.parametrize("named", [True, False])
def test_a_new_ratio_trains_audits_and_explains(define, named):
    rate, people = define(), draw()
    metric = rate(sex="F")
    if not named:
        metric = metric.numerator / metric.denominator
    promise = metric <= 0.2 if define is wrong_yeses else metric >= 0.68
    problem = rb.Problem(rb.error_rate(), [str(promise)])
    assert problem.subject_to == (promise,)
    trace = rb.play(
        rb.compile(problem, people),
        rb.Linear(),
        rules=rb.Rules(proxy="sigmoid"),
        epochs=30,
        batch_size=100,
    )
    model = rb.best_iterate(trace)
    report = rb.audit(problem, model, people)
    yes, women = model.predict(people.X) == model.classes[1], people.columns["sex"] == "F"
    if define is overlap:
        wanted = f1_score(people.y[women], yes[women])
    else:
        wanted = (yes & ~people.y)[women].sum() / yes[women].sum()
    (found,) = report.promises
    assert found.words == str(promise)
    assert found.value == pytest.approx(wanted)
    assert found.slack_low < found.slack < found.slack_high
    assert found.method == ("score" if define is overlap else "exact")
    assert found.unit == "rate"
    assert found.kept
    assert found.kept == model.status.feasible


def test_a_new_ratio_can_be_impossible_and_says_in_which_parts():
    people = draw()
    problem = rb.Problem("error_rate()", [overlap()() >= 0.99, rb.recall() <= 0.5])
    model = rb.shrink(rb.play(rb.compile(problem, people), rb.Linear(), rounds=30))
    assert "per row of its subset in 2.0 * true_positives() >= 1.98 * true_positives()" in (
        model.status.message
    )


def test_a_new_ratio_is_saved_and_loaded_where_it_is_defined(tmp_path):
    people, rate = draw(), wrong_yeses()
    problem = rb.Problem("error_rate()", [rate(sex="F") <= 0.3, rb.recall() / rb.accuracy() >= 0.5])
    model = rb.shrink(rb.play(rb.compile(problem, people), rb.Linear(), rounds=30))
    model.save(tmp_path / "model")
    loaded = rb.load(tmp_path / "model")
    assert loaded.problem == model.problem
    assert loaded.problem.subject_to == problem.subject_to
    assert str(rb.audit(loaded.problem, loaded, people)) == str(rb.audit(problem, model, people))
    del KINDS["wrong_yeses"]
    with pytest.raises(ValueError, match=r"wrong_yeses.*no such rate.*before rb\.load"):
        rb.load(tmp_path / "model")


@pytest.mark.parametrize(
    ("name", "parts", "message"),
    [
        ("recall", (rb.false_positives, rb.losses), "a rate called 'recall' already"),
        ("two words", (rb.wins, rb.losses), "a plain word"),
        (3, (rb.wins, rb.losses), "a plain word .*, got 3"),
        ("own", (rb.precision, rb.losses), "it takes rates such as"),
        ("own", (rb.false_positives, rb.recall() - rb.accuracy()), "never negative"),
        ("own", (rb.false_positives, 3), "it takes rates such as"),
    ],
)
def test_what_makes_no_ratio_is_refused(name, parts, message):
    with pytest.raises((TypeError, ValueError), match=message):
        rb.ratio(name, *parts)


def minimum_precision():
    @rb.goal
    def minimum_precision(groups, *, at_least, on=None):
        """Positive-predictive parity: in every group this share of the yeses is right."""
        return [rb.precision(group, on=on) >= at_least for group in groups]

    return minimum_precision


def test_a_new_goal_is_a_function_usable_in_text_and_on_columns():
    goal = minimum_precision()
    wanted = ['precision(sex == "F") >= 0.6', 'precision(sex == "M") >= 0.6']
    assert list(map(str, goal({"sex": ("F", "M")}, at_least=0.6))) == wanted
    assert goal({"sex": "F"}, at_least=0.6)[0].name == f"minimum precision: {wanted[0]}"
    text = "minimum_precision(sex, at_least=0.6)"
    assert [rb.parse(text)] == goal("sex", at_least=0.6)
    assert str(rb.parse(text)) == text
    compiled = rb.compile(rb.Problem("error_rate()", [text]), draw())
    assert list(map(str, compiled.constraints)) == wanted
    assert compiled.constraints[0].name == f"minimum precision: {wanted[0]}"


def test_goals_on_the_command_line(tmp_path, capsys):
    people, path = draw(400), tmp_path / "rows.csv"
    rows = zip(people.X[:, 0], people.columns["sex"], people.y.astype(int), strict=True)
    path.write_text("\n".join(["x,sex,label", *(f"{x:.3f},{sex},{y}" for x, sex, y in rows)]))
    promise = ["--require", "statistical_parity(sex, slack=0.2)", "--label", "label"]
    assert main(["explain", str(path), *promise]) == 0
    found = capsys.readouterr().out
    assert 'positive_rate(sex == "F") <= positive_rate() + 0.2' in found
    assert 'positive_rate(sex == "M") >= positive_rate() - 0.2' in found
    assert main(["train", str(path), *promise, "--out", str(tmp_path / "run")]) in (0, 1)
    assert 'positive_rate(sex == "F") <= positive_rate() + 0.2' in capsys.readouterr().out


def test_what_is_built_in_stays_and_what_is_ones_own_may_be_defined_again():
    wrong_yeses()
    first = wrong_yeses()() <= 0.1  # as a notebook's cell run twice
    assert rb.parse("wrong_yeses() <= 0.1") == first
    changed = rb.ratio("wrong_yeses", rb.false_positives, rb.true_positives)
    assert rb.parse("wrong_yeses() <= 0.1") == (changed() <= 0.1) != first
    minimum_precision()
    assert minimum_precision()({"sex": "F"}, at_least=0.6) == [rb.precision(sex="F") >= 0.6]


@pytest.mark.parametrize("taken", ["equalized_odds", "recall", "precision", "wrong_yeses"])
def test_a_goal_takes_no_name_of_ours_or_of_a_rate(taken):
    wrong_yeses()
    before = dict(GOALS)

    def own(groups):
        return [rb.recall(group) >= 0.5 for group in groups]

    own.__name__ = taken
    with pytest.raises(ValueError, match=f"called '{taken}' already: choose another name"):
        rb.goal(own)
    assert before == GOALS


@pytest.mark.parametrize("taken", ["statistical_parity", "minimum_precision", "precision"])
def test_a_ratio_takes_no_name_of_ours_or_of_a_goal(taken):
    minimum_precision()
    with pytest.raises(ValueError, match=f"called '{taken}' already"):
        rb.ratio(taken, rb.wins, rb.losses)


def test_what_makes_no_goal_is_refused():
    def no_groups(subsets, groups):
        return [rb.recall() >= 0.5]

    with pytest.raises(
        TypeError, match="no_groups: the first argument of a goal's function must be `groups`"
    ):
        rb.goal(no_groups)
    with pytest.raises(ValueError, match=r"a plain word such as .*, got '<lambda>'"):
        rb.goal(lambda groups: [rb.recall(group) >= 0.5 for group in groups])


@pytest.mark.parametrize("found", [None, rb.recall() >= 0.5, ["recall() >= 0.5"], "recall() >= 0.5", []])
def test_a_goal_that_returns_no_constraints_is_refused(found):
    @rb.goal
    def mistaken(groups):
        return found

    for say in (
        lambda: mistaken("sex"),
        lambda: mistaken({"sex": "F"}),
        lambda: rb.parse("mistaken(sex)"),
    ):
        with pytest.raises((TypeError, ValueError), match="mistaken: a goal's function must"):
            say()


def test_words_that_another_process_does_not_know():
    """A ratio takes its parts along; a goal on a column says what is missing."""
    goal, rate = minimum_precision(), wrong_yeses()
    words = pickle.dumps((goal("sex", at_least=0.6), rate() <= 0.1))
    del GOALS["minimum_precision"], KINDS["wrong_yeses"]
    goals, promise = pickle.loads(words)
    assert rb.compile(rb.Problem("error_rate()", [promise]), draw(20)).constraints == (promise,)
    with pytest.raises(ValueError, match="minimum_precision is not defined in this process: import"):
        rb.compile(rb.Problem("error_rate()", goals), draw(20))


def test_an_output_format_is_a_function_of_the_document():
    """CSV: every table of whatever is rendered, under its caption."""

    def as_csv(document):
        written = io.StringIO()
        rows = csv.writer(written)
        for table in document.tables:
            rows.writerow([table.caption])
            rows.writerow([head.words for head in table.heads])
            rows.writerows([words_of(cell) for cell in row] for row in table.rows)
        return written.getvalue()

    FORMATS["csv"] = as_csv
    people = draw()
    promises = [rb.recall(sex="F") >= 0.9 * rb.recall(), rb.positive_rate() <= 0.4]
    problem = rb.Problem(rb.error_rate(), promises)
    model = rb.shrink(rb.play(rb.compile(problem, people), rb.Linear(), rounds=30))
    report = rb.audit(problem, model, people)
    lines = list(csv.reader(io.StringIO(report.render("csv"))))
    start = lines.index(["Every promise on the rows audited"])
    assert lines[start + 1][:4] == ["promise", "value", "bound", "room"]
    for promise, line in zip(report.promises, lines[start + 2 :], strict=False):
        assert line[0] == promise.words
        assert float(line[1]) == pytest.approx(promise.value, abs=5e-5)
        assert line[-1] == promise.verdict


# --- a player of the multipliers -----------------------------------------------------------------


@dataclass(frozen=True)
class Hedge(rb.Player):
    """Multiplicative weights: what is violated counts more, by a factor (Freund and Schapire)."""

    rate: float = 1.0

    def start(self, constraints, *, settings=None, **_):
        weights = np.full((settings or 1, 1 + constraints), 1 / (1 + constraints))
        return rb.Multipliers(weights, np.zeros_like(weights))

    def step(self, multipliers, violations):
        gains = multipliers.state + self.rate * np.concatenate(
            [np.zeros((len(violations), 1)), violations], axis=1
        )
        weights = np.exp(gains - gains.max(axis=1, keepdims=True))
        return rb.Multipliers(weights / weights.sum(axis=1, keepdims=True), gains)


def test_a_player_of_ones_own_plays_with_any_model():
    people = draw()
    problem = rb.Problem(rb.error_rate(), ['recall(sex == "F") >= 0.95 * recall()'])
    compiled = rb.compile(problem, people)
    plain = rb.play(rb.compile(rb.Problem(rb.error_rate()), people), rb.Linear(), epochs=20)
    broken = rb.audit(problem, rb.last_iterate(plain), people).promises[0]
    assert not broken.kept  # it takes a player
    trace = rb.play(compiled, rb.Linear(), player=Hedge(3.0), epochs=40, batch_size=100)
    assert trace.multipliers[-1, 1] > trace.multipliers[0, 1]
    assert rb.audit(problem, rb.shrink(trace), people).promises[0].kept
    oracle = rb.play(compiled, rb.Oracle(LogisticRegression()), player=Hedge(5.0), rounds=15)
    assert rb.audit(problem, rb.shrink(oracle), people).promises[0].kept


# --- a learner and what it deploys ---------------------------------------------------------------


@rb.register_scorer
class SquaresScorer(rb.Scorer):
    kind = "test: linear in squares"

    def scores(self, parameters, X):
        return (parameters @ _squares(X).T)[:, None]


def _squares(X):
    return np.column_stack([np.ones(len(X)), X, X**2])


@dataclass(frozen=True)
class Squares(rb.Learner):
    """Gradient descent on a model that is linear in the features and their squares."""

    rate: float = 0.3

    def start(self, rows, settings, seed):
        return SquaresFit(_squares(rows.features), settings, self.rate)


class SquaresFit(rb.Descending):
    scorer = SquaresScorer()

    def __init__(self, X, settings, rate):
        self.X, self.rate, self.weights = X, rate, np.zeros((settings, X.shape[1]))

    def scores(self, rows):
        self.batch = self.X if rows is None else self.X[rows]
        return (self.weights @ self.batch.T)[:, None]

    def descend(self, gradient):
        self.weights = self.weights - self.rate * gradient[:, 0] @ self.batch

    def parameters(self):
        return self.weights.copy()

    def all_scores(self):
        return (self.weights @ self.X.T)[:, None]


def test_a_learner_of_ones_own_is_trained_saved_loaded_and_certified(tmp_path):
    people, others = draw(3000), draw(3000, seed=1)
    promise = 'recall(sex == "F") >= 0.9 * recall()'
    problem = rb.Problem("error_rate()", [promise])
    model = rb.shrink(rb.play(rb.compile(problem, people), Squares(), epochs=30, batch_size=100))
    assert model.status.feasible
    loaded = rb.load(model.save(tmp_path / "model"))
    assert np.array_equal(loaded.predict(others.X), model.predict(others.X))
    assert rb.audit(problem, loaded, people).promises[0].kept
    plain = LogisticRegression().fit(people.X, people.y)
    assert (
        rb.audit(problem, loaded, others).objective.value
        < np.mean(plain.predict(others.X) != others.y) + 0.03
    )
    certificate = rb.certify(problem, loaded, others)
    assert certificate.promises[0].rows == (others.y & (others.columns["sex"] == "F")).sum()
