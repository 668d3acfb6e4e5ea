"""The formulas in the help of rates are what scikit-learn computes, and what problems compile to."""

import re

import numpy as np
import pytest
from sklearn import metrics

import ratebound._old as rb
from ratebound._old.rates.documented import formula
from ratebound._old.rates.kinds import KINDS

LABELS = np.array([1] * 7 + [0] * 11)
SCORES = np.array([1.0] * 5 + [-1.0] * 2 + [1.0] * 3 + [-1.0] * 8)
COUNTS = {"TP": 5, "FN": 2, "FP": 3, "TN": 8, "n": 18}
FORMULAS = {name: formula(kind) for name, kind in KINDS.items() if hasattr(rb, name)}
IN_LETTERS = [name for name, found in FORMULAS.items() if found and "()" not in found]
SKLEARN = {
    "recall": metrics.recall_score,
    "precision": metrics.precision_score,
    "accuracy": metrics.accuracy_score,
    "error_rate": metrics.zero_one_loss,
    "f_score": metrics.f1_score,
    "jaccard": metrics.jaccard_score,
}


def computed(name):
    return eval(re.sub(r"(\d) ", r"\1 * ", FORMULAS[name]), COUNTS)


@pytest.mark.parametrize("name", SKLEARN)
def test_a_formula_is_what_scikit_learn_computes(name):
    assert computed(name) == pytest.approx(SKLEARN[name](LABELS, SCORES >= 0))


@pytest.mark.parametrize("name", IN_LETTERS)
def test_a_formula_is_what_is_counted(name):
    people = rb.Population(None, LABELS)
    problem = rb.Problem("error_rate()", [getattr(rb, name)() >= computed(name)])
    _, violations = rb.compile(problem, people).evaluate(SCORES)
    assert violations == pytest.approx([0.0], abs=1e-12)


def test_what_letters_cannot_say_has_no_formula():
    lacking = {name for name, found in FORMULAS.items() if found is None}
    assert lacking == {
        "confusion", "cost", "churn", "loss_only_churn", "wins", "losses", "positive_rate_of",
        "accuracy_of", "error_rate_of", "recall_of", "false_positive_rate_of", "ranked_right",
        "roc_auc", "referred", "referrals",
    }  # fmt: skip
    assert FORMULAS["win_loss_ratio"] == "wins() / losses()"
