"""What the studio guesses of a table: the label, by its name and its values."""

import pytest

from ratebound._old.studio.table import likely_label, likely_live


def columns(*names, values=((1, 5), (0, 5)), protected=()):
    return [
        {"name": name, "values": [list(each) for each in values], "protected": name in protected}
        for name in names
    ]


@pytest.mark.parametrize(
    ("names", "label"),
    [
        (["sex", "credit", "status_A11", "status_A12", "worker_A201", "worker_A202"], "credit"),
        (["default", "housing", "loan", "y"], "y"),
        (["c_charge_degree", "is_recid", "two_year_recid"], "two_year_recid"),
        (["part", "label", "noisy_label"], "label"),
        (["income-per-year", "country_Cuba", "country_Peru"], "income-per-year"),
        (["age", "anything"], "anything"),
        (["age", "train_or_test"], None),
        (["status_A11", "status_A12"], None),
    ],
)  # fmt: skip
def test_the_label_is_guessed_by_its_name(names, label):
    assert likely_label(columns(*names, protected=("sex", "age"))) == label


def test_decisions_of_a_live_model_are_not_one_of_many_like_it():
    assert likely_live(columns("live", "y")) == "live"
    assert likely_live(columns("desc_Live on it", "desc_Other", "y")) is None
