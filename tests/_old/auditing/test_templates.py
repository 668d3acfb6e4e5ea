"""Impact ratios on tables computed by hand, and the forms that are filled in with an audit."""

import json

import numpy as np
import pytest

import ratebound._old as rb
from ratebound import RateConstrainedClassifier
from ratebound._bridge import make_policy
from ratebound._old.auditing import templates
from ratebound._old.cli import main

# Category: rows and how many of them were selected. 1,000 rows in all; "Other" is 1% of them.
COUNTS = {
    ("Female", "White"): (200, 80),
    ("Female", "Black"): (150, 45),
    ("Female", "Other"): (4, 4),
    ("Male", "White"): (400, 200),
    ("Male", "Black"): (230, 92),
    ("Male", "Other"): (6, 3),
    ("Unknown", "White"): (10, 5),
}


@pytest.fixture(scope="module")
def hired():
    rows = [
        (sex, race, int(i < yes), 100 * i / many)
        for (sex, race), (many, yes) in COUNTS.items()
        for i in range(many)
    ]
    names = ("sex", "race", "hired", "score")
    return {name: np.array(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}


def test_selection_rates_by_hand(hired):
    found = rb.impact_ratios(decisions="hired", rows=rb.Population(None, columns=hired))
    sex, race, both = found.tables
    ratios = {each.words: each.ratio for each in sex.categories}
    female, male = 129 / 354, 295 / 636
    assert ratios == {'sex == "Female"': pytest.approx(female / male), 'sex == "Male"': 1.0}
    assert sex.unknown == 10
    rates = {each.words: (each.rows, each.rate, each.ratio, each.left_out) for each in race.categories}
    white, black = 285 / 610, 137 / 380
    assert rates['race == "White"'] == (610, pytest.approx(white), 1.0, "")
    assert rates['race == "Black"'] == (380, pytest.approx(black), pytest.approx(black / white), "")
    # Below 2%: its number and rate are shown, it has no ratio, and it is not the highest.
    assert rates['race == "Other"'] == (10, 0.7, None, "below 2% of the data")
    crossed = {each.words: each for each in both.categories}
    assert len(crossed) == 6
    assert crossed['sex == "Male" and race == "White"'].reference
    assert crossed['sex == "Female" and race == "Black"'].ratio == pytest.approx(0.3 / 0.5)
    assert both.unknown == 10
    assert found.smallest == pytest.approx(0.6)


def test_scoring_rates_are_above_the_median_of_all(hired):
    found = rb.impact_ratios(decisions="hired", rows=rb.Population(None, columns=hired), score="score")
    table = next(each for each in found.tables if each.rate == "scoring rate" and each.by == ("sex",))
    above = hired["score"] > np.median(hired["score"])
    for each in table.categories:
        inside = hired["sex"] == each.words.split('"')[1]
        assert each.rate == pytest.approx(above[inside].mean())
    assert max(each.ratio for each in table.categories) == 1.0


def test_lending_by_hand(hired):
    from scipy.stats import fisher_exact

    rows = rb.Population(None, columns=hired)
    found = rb.impact_ratios(decisions="hired", rows=rows, by="race", score="score", form="lending")
    (table,) = found.tables
    black = next(each for each in table.categories if "Black" in each.words)
    assert black.ratio == pytest.approx((137 / 380) / (285 / 610))
    assert black.p_value == pytest.approx(fisher_exact([[137, 243], [285, 325]]).pvalue)
    scores = {race: hired["score"][hired["race"] == race].mean() for race in ("Black", "White")}
    expected = (scores["Black"] - scores["White"]) / hired["score"].std()
    assert black.mean_difference == pytest.approx(expected)
    assert not any(each.left_out for each in table.categories)


def test_of_a_model_and_in_every_format(hired):
    class Half:
        def predict(self, X):
            return np.arange(len(X)) % 2

    columns = {"sex": hired["sex"], "race": hired["race"]}
    found = rb.impact_ratios(Half(), rb.Population(np.zeros((1000, 1)), columns=columns))
    for form in ("text", "markdown", "html"):
        assert "not a legal opinion" in found.render(form)
    assert json.loads(found.render("json"))["form"] == "ll144"


REFUSED = {
    "no categories": ({"by": ()}, "no column looks like"),
    "no such column": ({"by": "sx"}, "there is no column 'sx'"),
    "texts as scores": ({"by": "group", "score": "group"}, "must hold scores"),
    "another form": ({"by": "group", "form": "x"}, "'ll144' or 'lending'"),
}


@pytest.mark.parametrize(("how", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(how, message):
    rows = rb.Population(None, columns={"group": ["a", "b"], "yes": [1, 0]})
    with pytest.raises(ValueError, match=message):
        rb.impact_ratios(decisions="yes", rows=rows, **how)


# --- forms --------------------------------------------------------------------------------------------

ABOUT = {"owner": "Credit risk", "intended-use": "Loans", "expires": "2020-01-31"}


@pytest.mark.parametrize("kind", ["model-card", "annex-iv"])
def test_forms_say_what_is_known_and_name_what_is_not(hired, kind):
    report = rb.audit(
        "positive_rate() >= 0.3", decisions="hired", rows=rb.Population(None, columns=hired)
    )
    form = report.template(kind, ABOUT)
    assert "owner" not in form.blanks
    assert "sign_off" in form.blanks
    for written in (form.render("markdown"), form.render("html"), str(form)):
        assert "Credit risk" in written
        assert "to be filled in" in written
        assert "positive_rate() &gt;= 0.3" in written or "positive_rate() >= 0.3" in written
        assert "It expired on 2020-01-31" in written
    assert json.loads(form.render("json"))["form"]["expired"]


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ({"ownr": "x"}, "did you mean 'owner'"),
        ({"owner": 3}, "takes a text"),
        ({"expires": "soon"}, "takes a date"),
    ],
)
def test_slips_in_about(hired, about, message):
    report = rb.audit(
        "positive_rate() >= 0.3", decisions="hired", rows=rb.Population(None, columns=hired)
    )
    with pytest.raises(ValueError, match=message):
        report.template("model-card", about)


def test_from_the_command_line(hired, tmp_path, capsys):
    table, about, out = tmp_path / "hired.csv", tmp_path / "about.toml", tmp_path / "card.md"
    lines = [",".join(map(str, row)) for row in zip(*hired.values(), strict=True)]
    table.write_text("\n".join([",".join(hired), *lines]))
    about.write_text('[about]\nowner = "Credit risk"\nexpires = 2099-12-31\n')
    words = ["audit", str(table), "--decision", "hired"]
    assert main([*words, "--template", "ll144", "--score", "score", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["smallest"] <= 0.6
    promise = ["--require", "positive_rate() >= 0.3", "--template", "model-card"]
    assert main([*words, *promise, "--about", str(about), "--out", str(out)]) == 0
    assert out.read_text().startswith("# Model card")
    capsys.readouterr()
    assert main([*words, "--require", "positive_rate() >= 0.3", "--by", "sex"]) == 2
    assert "--template ll144" in capsys.readouterr().err


def test_every_blank_of_annex_iv_can_be_filled():
    """Nothing is left to be filled in once people have said all that they can."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"age": np.arange(200) % 50, "debt": np.arange(200) % 7})
    fitted = RateConstrainedClassifier("recall() >= 0.5", random_state=0)
    model = make_policy(fitted.fit(frame, frame["age"] > 25))
    report = model.audit(frame, frame["age"] > 25)
    said = {key: f"about {key}" for key in templates.ABOUT} | {"expires": "2099-01-31"}
    form = report.template("annex-iv", said)
    assert form.blanks == []
    page = form.render("text")
    assert "to be filled in" not in page
    assert "age, debt" in page
    for words in said.values():
        assert words in page
    for number, words in enumerate(HEADINGS, 1):
        assert f"\n{number}. {words}" in page


# The subjects of the nine points of Annex IV of Regulation (EU) 2024/1689, in their order.
HEADINGS = (
    "General description", "Elements and development", "Monitoring, functioning and control",
    "Why these metrics are appropriate", "Risk management", "Changes through the lifecycle",
    "Standards", "Declaration of conformity", "Post-market monitoring",
)  # fmt: skip


def test_categories_that_differ_only_in_case_are_pointed_out():
    table = {"sex": ["f", "m", "M", "f"] * 25, "hired": [1, 0, 1, 1] * 25}
    found = rb.impact_ratios(decisions="hired", rows=rb.Population(None, columns=table))
    assert "sex: 'm' and 'M' differ only in case" in str(found)
