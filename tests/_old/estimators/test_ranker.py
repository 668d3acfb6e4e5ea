"""The ranker: what it promises of pairs of new rows, its files, and what it refuses."""

import numpy as np
import pandas
import pytest
from sklearn.base import clone

import ratebound._old as rb
from ratebound._old.estimators.ranker import dealt

RULE = (
    'abs(ranked_right(first.group == "b", second.group == "a") - '
    'ranked_right(first.group == "a", second.group == "b")) <= 0.05'
)
SHORT = rb.Training(epochs=5, batch_size=256)


def drawn(seed=0, size=500):
    """Rows of which those of group a stand higher by a feature that counts."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(size, 3))
    group = np.where(X[:, 1] + random.normal(size=size) > 0, "a", "b")
    y = X[:, 0] + X[:, 1] + random.normal(size=size) > 0
    return X, y, group


@pytest.fixture(scope="module")
def fitted():
    X, y, group = drawn()
    pairs = rb.Pairs(X, y, columns={"group": group}, count=20_000)
    return rb.RateConstrainedRanker(RULE, confidence=None, random_state=0).fit(pairs)


def gap(ranker, X, y, group):
    scores = ranker.decision_function(X)

    def rate(first, second):
        good, bad = np.sort(scores[y & (group == first)]), scores[~y & (group == second)]
        return 1 - np.searchsorted(good, bad, side="right").mean() / len(good)

    return abs(rate("a", "b") - rate("b", "a"))


def test_a_promise_is_kept_on_new_rows_that_the_plain_model_breaks(fitted):
    X, y, group = drawn()
    plain = rb.RateConstrainedRanker(random_state=0, training=SHORT).fit(X, y, columns={"group": group})
    new = drawn(1, 20_000)
    assert gap(plain, *new) > 0.15
    assert fitted.status_.feasible
    assert gap(fitted, *new) < 0.1
    assert fitted.score(new[0][:2000], new[1][:2000]) > 0.7
    assert "saw neither row" in str(fitted.status_)


def test_a_score_is_of_a_row_alone(fitted):
    X, _, _ = drawn()
    together = fitted.decision_function(X)
    assert together.shape == (500,)
    assert (
        np.concatenate([fitted.decision_function(X[i : i + 1]) for i in range(5)]) == together[:5]
    ).all()


def test_what_is_said_of_pairs_out_of_fold_is_near_what_new_rows_show(fitted):
    X, y, group = drawn(2, 3000)
    audit = fitted.audit(X, y, columns={"group": group})
    assert audit.objective.value == pytest.approx(fitted.objective_, abs=0.05)
    assert len(audit.promises) == 2
    assert "promises" in str(audit)


def test_the_same_state_gives_the_same_ranker():
    X, y, group = drawn(size=200)
    once, again = (
        rb.RateConstrainedRanker(RULE, training=SHORT, random_state=3).fit(
            X, y, columns={"group": group}
        )
        for _ in range(2)
    )
    assert (once.decision_function(X) == again.decision_function(X)).all()


@pytest.mark.parametrize("model", ["linear", "lightgbm", "xgboost", "mlp"])
def test_a_file_ranks_as_before(model, tmp_path):
    if model != "linear":
        pytest.importorskip({"mlp": "torch"}.get(model, model))
    X, y, group = drawn(size=200)
    ranker = rb.RateConstrainedRanker(RULE, model=model, training=SHORT, random_state=0)
    ranker.fit(X, y, columns={"group": group})
    loaded = rb.load(ranker.save(tmp_path / "ranker.safetensors"))
    assert (loaded.decision_function(X) == ranker.decision_function(X)).all()
    audits = [each.audit(X, y, columns={"group": group}) for each in (ranker, loaded)]
    assert audits[0].promises == audits[1].promises
    with pytest.raises(TypeError, match="puts rows in order"):
        loaded.predict(X)
    with pytest.raises(ValueError, match="pairs share rows"):
        loaded.certify(X, y)
    assert loaded.predict(X, exactly=30).sum() == 30


def test_a_module_of_ones_own_learns_from_pairs():
    torch = pytest.importorskip("torch")
    X, y, _ = drawn(size=200)
    module = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    ranker = rb.RateConstrainedRanker(model=module, training=rb.Training(epochs=40), random_state=0)
    assert ranker.fit(X, y).score(X, y) > 0.75


def test_tables_with_texts_and_gaps_and_a_continuous_outcome():
    X, _, group = drawn()
    table = pandas.DataFrame(
        {"x": X[:, 0], "z": X[:, 1], "colour": np.resize(["red", "blue", None], 500)}
    )
    table.loc[::7, "x"] = np.nan
    outcome = X[:, 0] + X[:, 1]
    ranker = rb.RateConstrainedRanker(
        'ranked_right(first.group == "b") >= 0.6', training=SHORT, random_state=0
    ).fit(table, outcome, columns={"group": group})
    assert ranker.status_.feasible
    assert ranker.score(table, outcome) > 0.8
    assert ranker.feature_names_in_.tolist() == ["x", "z", "colour"]


def test_queries_are_judged_by_models_that_saw_none_of_their_rows():
    X, y, group = drawn(size=600)
    pairs = rb.Pairs(X, y, {"group": group}, query=np.repeat(np.arange(60), 10))
    folds = dealt(pairs, ["first.group"], 3, 0)
    assert all(len(set(folds[pairs.query == query])) == 1 for query in range(60))
    assert min(np.bincount(folds)) > 100
    few = rb.Pairs(X, y, {"group": group}, query=np.resize([0, 1], 600))
    inside = few.within(dealt(few, ["first.group"], 3, 0))
    assert (few.query[inside.first] == few.query[inside.second]).all()
    ranker = rb.RateConstrainedRanker(RULE, training=SHORT, random_state=0).fit(pairs)
    assert ranker.decision_function(X).shape == (600,)


def test_folds_have_the_same_share_of_every_group():
    X, y, group = drawn(size=90)
    folds = dealt(rb.Pairs(X, y, {"group": group}), ["first.group", "second.group"], 3, 0)
    for each in "ab":
        for label in (False, True):
            counts = np.bincount(folds[(group == each) & (y == label)], minlength=3)
            assert counts.max() - counts.min() <= 1


def test_it_is_a_scikit_learn_estimator():
    ranker = rb.RateConstrainedRanker(RULE, model="lightgbm")
    assert clone(ranker).get_params() == ranker.get_params()
    with pytest.raises(Exception, match="not fitted"):
        ranker.decision_function([[0.0]])


WRONG = {
    "y= is for a table or an array X; pairs have their own": lambda r, p: r.fit(p, [1]),
    "confidence, a probability": lambda r, p: r.set_params(confidence=2).fit(p),
    "training takes rb.Training": lambda r, p: r.set_params(training=3).fit(p),
    "learns from pairs by the gradient": lambda r, p: r.set_params(
        model=_classifier(), method="game"
    ).fit(p),
    "method must be": lambda r, p: r.set_params(method="plugin").fit(p),
    "consists of pairs, but error_rate counts single rows": lambda r, p: r.set_params(
        objective="error_rate()"
    ).fit(p),
    "did you mean 'first.group'": lambda r, p: r.set_params(
        constraints='ranked_right(first.grup == "a") >= 0.5'
    ).fit(p),
    "rb.Pairs needs y": lambda r, p: r.fit(p.rows.X),
    "all rows have the same y": lambda r, p: r.fit(p.rows.X, np.ones(60)),
    "each of the 60 queries has one row": lambda r, p: r.fit(p.rows.X, p.outcome, query=range(60)),
    "y has 2 missing values": lambda r, p: r.fit(p.rows.X, [np.nan] * 2 + [1.0] * 58),
    "X has 60 rows and y 3": lambda r, p: r.fit(p.rows.X, [1, 0, 1]),
    "X has 60 rows and query 2": lambda r, p: r.fit(p.rows.X, p.outcome, query=[1, 2]),
    "X has 60, columns\\['group'\\] has 1": lambda r, p: r.fit(p.rows.X, p.outcome, {"group": ["a"]}),
    "X has 60, weights has 1": lambda r, p: r.fit(p.rows.X, p.outcome, sample_weight=[1.0]),
    'no row has first.group == "c"': lambda r, p: r.set_params(
        constraints='ranked_right(first.group == "c") >= 0.5'
    ).fit(p),
    "did you mean 'second.group'": lambda r, p: r.set_params(
        constraints='ranked_right(second.grup == "a") >= 0.5'
    ).fit(p),
    "this rate does not exist here": lambda r, p: r.fit(
        p.rows.X, p.outcome, {"group": np.repeat(["a", "b"], 30)}, query=np.repeat([0, 1], 30)
    ),
    "no model can keep this": lambda r, p: r.set_params(constraints="ranked_right() >= 1.1").fit(p),
    "2 rows are too few to judge a ranker": lambda r, p: r.set_params(constraints=()).fit(
        p.rows.X[:2], [0, 1]
    ),
    "tests decisions on independently drawn rows": lambda r, p: (
        r.set_params(constraints=()).fit(p).certify(p.rows.X)
    ),
    "reasons are for decisions": lambda r, p: r.set_params(constraints=()).fit(p).solution_.reasons(p),
    "counts decisions on single rows, but ranked_right": lambda r, p: rb.Monitor(
        rb.Problem("1 - ranked_right()", [RULE])
    ),
    "rows_needed is about decisions on single rows": lambda r, p: rb.rows_needed(
        rb.Problem("1 - ranked_right()", [RULE]), p, margin=0.1
    ),
    "make pairs of them": lambda r, p: rb.RateConstrainedClassifier(RULE).fit(
        p.rows.X, p.outcome > 0, columns={"group": p.rows.column("group")}
    ),
}


def _classifier():
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression()


@pytest.mark.parametrize("message", WRONG)
def test_what_cannot_be_is_named(message):
    X, y, group = drawn(size=60)
    with pytest.raises((ValueError, TypeError), match=message):
        WRONG[message](rb.RateConstrainedRanker(RULE), rb.Pairs(X, y, {"group": group}))


def test_what_no_ranking_keeps_is_named_with_what_is_left():
    X, y, group = drawn(size=120)
    rules = [
        f'ranked_right(first.group == "{one}", second.group == "{other}") >= 0.99'
        for one, other in ("ab", "ba")
    ]
    ranker = rb.RateConstrainedRanker(rules, training=SHORT, random_state=0)
    with pytest.warns(UserWarning, match="infeasible: 2 of 2 constraints broken"):
        ranker.fit(X, y, columns={"group": group})
    assert ranker.status_.confidence < 0.1
    assert "near the 90%" not in ranker.status_.message
    assert "breaks promises by more" in ranker.status_.message


def test_a_group_of_one_good_row_shows_nothing_of_new_rows():
    """One row is all there is of its kind; how it does against many others says little of the next."""
    X, y, group = drawn(size=120)
    rare = np.where(np.arange(120) == np.flatnonzero(y)[X[y, 0].argmax()], "z", group)
    ranker = rb.RateConstrainedRanker('ranked_right(first.group == "z") >= 0.6', random_state=0)
    ranker.fit(X, y, columns={"group": rare})
    assert ranker.status_.confidence < 0.8
    assert ranker.audit(X, y, columns={"group": rare}).promises[0].verdict == "may not hold"


def test_what_is_maximized_is_shown_as_it_was_said():
    X, y, _ = drawn(size=200)
    problem = rb.Problem(maximize="ranked_right()")
    ranker = rb.RateConstrainedRanker(objective=problem, random_state=0).fit(X, y)
    assert 0.7 < ranker.objective_ < 1


def test_a_column_alone_means_each_of_its_values():
    X, y, group = drawn(size=200)
    ranker = rb.RateConstrainedRanker("ranked_right(first.group) >= 0.6", random_state=0)
    ranker.fit(X, y, columns={"group": group})
    each = [f'ranked_right(first.group == "{value}") >= 0.6' for value in "ab"]
    assert list(map(str, ranker.constraints_)) == each
    assert [promise.words for promise in ranker.audit(X, y, {"group": group}).promises] == each


def test_a_goal_that_is_no_sum_is_played():
    X, y, group = drawn(size=200)
    goal = 'smallest(ranked_right(first.group == "a"), ranked_right(first.group == "b"))'
    ranker = rb.RateConstrainedRanker(
        objective=rb.Problem(maximize=goal), training=SHORT, random_state=0
    ).fit(X, y, columns={"group": group})
    assert 0.6 < ranker.objective_ < 1
    with pytest.raises(ValueError, match="is not a sum of rates: use method='game'"):
        ranker.set_params(method="plug-in").fit(X, y, columns={"group": group})


def test_it_stands_in_pipelines_and_searches_and_takes_what_people_have():
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y, group = drawn(size=300)
    table = pandas.DataFrame(X, columns=list("xzw")).assign(group=group)
    ranker = rb.RateConstrainedRanker(
        RULE.replace("0.05", "0.3"), features=list("xzw"), confidence=None, pairs=5000, random_state=0
    )
    search = GridSearchCV(ranker, {"objective": ["1 - ranked_right()"]}, cv=3).fit(table, y)
    assert search.best_score_ > 0.8
    rows = table.head(5).to_dict("records")
    assert search.best_estimator_.predict(rows, exactly=2).sum() == 2
    assert (search.best_estimator_.decision_function(rows) == search.decision_function(table)[:5]).all()
    piped = make_pipeline(StandardScaler(), clone(ranker).set_params(features=None))
    piped.fit(X, y, rateconstrainedranker__columns={"group": group})
    assert piped.score(X, y) > 0.8
