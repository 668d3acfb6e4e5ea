"""Labels, columns and further populations as people have them; what cannot be meant is refused."""

import numpy as np
import pytest

import ratebound._old as rb
from ratebound._old.estimators.given import other_populations

from ..extras import pa, pd, pl

pytestmark = pytest.mark.usefixtures("brief")

N = 120
POOL = 'positive_rate(on="pool") <= 0.9'
RNG = np.random.default_rng(5)
SCORE = RNG.normal(size=N)
TABLE = {"score": SCORE, "group": RNG.choice(["a", "b"], N).astype(object)}
YES = SCORE + RNG.normal(size=N) > 0
LABELS = np.where(YES, "Y", "N").astype(object)
FRAMES = {"pandas": lambda table: pd.DataFrame(table), "polars": lambda table: pl.DataFrame(table)}


def classifier(constraints="recall() >= 0.5"):
    return rb.RateConstrainedClassifier(
        constraints, features=["score"], training=rb.Training(epochs=2), random_state=0
    )


# --- labels ----------------------------------------------------------------------------------------

SPELLED = {
    "list": (lambda: list(LABELS), "U"),
    "array": (lambda: LABELS.astype(str), "U"),
    "pandas": (lambda: pd.Series(LABELS), "O"),
    "category": (lambda: pd.Series(LABELS, dtype="category"), "O"),
    "boolean": (lambda: pd.Series(YES, dtype="boolean"), "b"),
    "Int64": (lambda: pd.Series(YES.astype(int), dtype="Int64"), "i"),
    "polars": (lambda: pl.Series(LABELS), "O"),
    "arrow": (lambda: pa.array(LABELS), "O"),
    "arrow truth": (lambda: pa.array(YES.tolist()), "b"),
    "masked": (lambda: np.ma.array(YES), "b"),
}


@pytest.mark.parametrize("kind", SPELLED)
def test_labels_of_any_kind_give_the_same_model(kind):
    make, dtype = SPELLED[kind]
    given = make()
    people = pd.DataFrame(TABLE)
    model = classifier().fit(people, given)
    assert model.classes_.dtype.kind == dtype
    wanted = classifier().fit(people, YES).predict(people)
    assert ((model.predict(people) == model.classes_[1]) == wanted).all()
    assert model.audit(people, given).promises[0].value == pytest.approx(wanted[YES].mean())


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_a_table_of_one_column_is_labels_with_scikit_learns_warning(frame):
    with pytest.warns(UserWarning, match="column-vector y"):
        assert classifier().fit(frame(TABLE), frame({"y": LABELS})).classes_.tolist() == ["N", "Y"]


WRONG_LABELS = {
    "a name": ("income", TypeError, r"got the text 'income'.*X\.drop\(columns=\['income'\]\)"),
    "kinds": ([1, "a"] * 60, ValueError, "mixes labels of different kinds, 1, 'a'"),
    "one": (["a"] * N, ValueError, "has 1 class, 'a': train on rows of another class"),
    "many": (list(range(N)), ValueError, "120 different labels in 120 rows, 0, 1, .*into bands"),
    "gaps": ([None, "a", "b"] * 40, ValueError, "y has 40 missing labels among 120"),
    "NaN": ([np.nan, 1.0, 0.0] * 40, ValueError, "y has 40 missing labels among 120"),
    "two columns": (np.zeros((N, 2)), ValueError, r"y has shape \(120, 2\)"),
    "rows": (list("ab"), ValueError, "120 rows and y 2|inconsistent numbers"),
}


@pytest.mark.parametrize("kind", WRONG_LABELS)
@pytest.mark.parametrize("as_table", [True, False], ids=["table", "array"])
def test_labels_that_cannot_be_trained_on(as_table, kind):
    given, error, words = WRONG_LABELS[kind]
    with pytest.raises(error, match=words):
        rb.RateConstrainedClassifier().fit(pd.DataFrame(TABLE) if as_table else SCORE[:, None], given)


def test_labels_that_cannot_be_audited():
    people = pd.DataFrame(TABLE)
    model = classifier().fit(people, LABELS)
    with pytest.raises(ValueError, match="not in training: 'maybe'; the trained labels are 'N', 'Y'"):
        model.audit(people, ["Y", "maybe"] * 60)
    with pytest.raises(ValueError, match="y has 60 missing labels"):
        model.audit(people, ["Y", None] * 60)


# --- tables ----------------------------------------------------------------------------------------


def test_columns_of_one_name_are_refused():
    people = pd.DataFrame(TABLE)
    twice = pd.concat([people, people[["group"]]], axis=1)
    for given in ({"X": twice}, {"X": people, "columns": twice}):
        with pytest.raises(ValueError, match=r"two columns .*named 'group'"):
            classifier().fit(given.pop("X"), LABELS, **given)
        with pytest.raises(ValueError, match=r"two columns .*named 'group'"):
            rb.Population(twice, LABELS, positive="Y").column("group")


def test_rows_in_another_order_are_refused():
    people = pd.DataFrame(TABLE)
    turned = people.iloc[::-1]
    model = classifier().fit(people, LABELS)
    for use in (model.fit, model.audit):
        with pytest.raises(ValueError, match=r"columns names the same rows.*columns\.loc\[X\.index\]"):
            use(people, LABELS, columns=turned)
        with pytest.raises(ValueError, match="y names the same rows as X in another order"):
            use(people, pd.Series(LABELS)[::-1])
        use(people, LABELS, columns=turned.reset_index(drop=True))
        use(people, LABELS, columns=turned.set_index(turned.index + N))  # other rows, by their place


# --- further populations ---------------------------------------------------------------------------


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_further_populations_are_encoded_as_the_training_rows(frame, tmp_path):
    promises = [
        'positive_rate(group == "a", on="pool") >= 0.6',
        'accuracy(on="steering") >= 0.5',
        'recall(old == True, on="steering") >= 0.5',
    ]
    people, some = frame(TABLE), slice(0, 60)
    part = frame({name: values[some] for name, values in TABLE.items()})
    beside = {"old": RNG.random(60) < 0.5}
    raw = {"pool": part, "steering": (part, LABELS[some], beside)}
    made = {
        "pool": rb.Population(part),
        "steering": rb.Population(part, LABELS[some], beside, positive="Y"),
    }
    fitted = [classifier(promises).fit(people, LABELS, **others) for others in (raw, made)]
    assert fitted[0].violations_ == fitted[1].violations_
    audits = [model.audit(people, LABELS, **raw) for model in fitted]
    assert [p.value for p in audits[0].promises] == [p.value for p in audits[1].promises]
    decided = fitted[0].predict(part) == "Y"
    of_a = TABLE["group"][some] == "a"
    assert audits[0].promises[0].value == pytest.approx(decided[of_a].mean(), abs=0.1)
    loaded = rb.load(fitted[0].save(tmp_path / "model"))
    assert [p.value for p in loaded.audit(people, LABELS, **raw).promises] == [
        p.value for p in audits[0].promises
    ]


WRONG_OTHERS = {
    "text": ("people.csv", TypeError, "pool: a population is a table.*got str"),
    "list": ([[1.0], [2.0]], TypeError, "pool: a population is a table.*got list"),
    "labels": ((np.zeros((2, 1)), ["Y", "yes"]), ValueError, "pool: y holds labels that were not"),
    "rows": ((np.zeros((2, 1)), ["Y"]), ValueError, "pool: all parts .*same number of rows"),
    "made": (rb.Population(np.zeros((2, 1)), [0, 1]), ValueError, "pool: its yes is 1"),
}


@pytest.mark.parametrize("kind", WRONG_OTHERS)
def test_what_is_no_population(kind):
    given, error, words = WRONG_OTHERS[kind]
    with pytest.raises(error, match=words):
        other_populations({"pool": given}, ("N", "Y"), rb.Problem("error_rate()"))


def test_a_population_that_nobody_speaks_of_is_a_slip():
    people = pd.DataFrame(TABLE)
    with pytest.raises(TypeError, match=r"sample_weights= is not an argument.*mean 'sample_weight'"):
        classifier().fit(people, LABELS, sample_weights=np.ones(N))
    with pytest.raises(TypeError, match=r'pol= is not an argument.*A constraint names one by on="pol"'):
        classifier().fit(people, LABELS, pol=people)


def test_a_further_population_without_labels_or_columns_says_so():
    people = pd.DataFrame(TABLE)
    with pytest.raises(ValueError, match="population 'pool': this rate needs labels"):
        classifier('accuracy(on="pool") >= 0.5').fit(people, LABELS, pool=people)
    with pytest.raises(ValueError, match=r"pool: its X must be like the training X.*'score'"):
        classifier('positive_rate(on="pool") >= 0.5').fit(people, LABELS, pool=people[["group"]])


# --- what promises name  ------------------------------------------------------------------------


def test_decisions_may_be_spelled_as_the_labels_are():
    people = pd.DataFrame(TABLE).assign(live=LABELS)
    model = classifier('churn(versus="live") <= 0.1').fit(people, LABELS)
    churn = (model.predict(people) != LABELS).mean()
    assert model.audit(people, LABELS).promises[0].value == pytest.approx(churn, abs=0.1)
    with pytest.raises(ValueError, match="'live' has 1 missing values"):
        model.fit(people.assign(live=[None, *LABELS[1:]]), LABELS)


@pytest.mark.parametrize("frame", [np.asarray, FRAMES["pandas"]], ids=["array", "columns by number"])
def test_features_by_their_number(frame):
    X = np.column_stack([SCORE, RNG.normal(size=N)])
    model = rb.RateConstrainedClassifier(
        "positive_rate(column(1) > 0) >= 0.9", training=rb.Training(epochs=2), random_state=0
    ).fit(frame(X), YES)
    assert model.violations_["positive_rate(column(1) > 0) >= 0.9"] <= 1e-9
    found = model.audit(frame(X), YES).promises[0]
    assert found.rows == (X[:, 1] > 0).sum()


def test_gaps_in_a_column_that_promises_speak_of_are_a_group():
    group = TABLE["group"].copy()
    group[::4] = None
    people = pd.DataFrame({**TABLE, "group": group})
    model = classifier("minimum_recall(group, at_least=0.7)").fit(people, YES)
    assert list(model.violations_)[2] == "recall(missing(group)) >= 0.7"
    assert max(model.violations_.values()) <= 1e-9


def test_few_rows_for_folds_are_said_in_the_estimators_words():
    with pytest.raises(ValueError, match=r"2 rows are too few for 3 folds.*give more rows"):
        rb.RateConstrainedClassifier("recall() >= 0.5", confidence=0.9).fit([[0.0], [1.0]], [0, 1])


def test_tables_that_are_none_yet():
    people = pl.DataFrame(TABLE)
    model = classifier().fit(people, LABELS)
    for call in (lambda: model.fit(people.lazy(), LABELS), lambda: model.predict(people.lazy())):
        with pytest.raises(TypeError, match=r"pass the result of its collect\(\)"):
            call()
