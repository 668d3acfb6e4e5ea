"""Costs and budgets on the command line, where amounts may be written as people write money."""

import json

import numpy as np
import pytest

from ratebound._old.cli import main


@pytest.fixture
def table(tmp_path):
    random = np.random.default_rng(0)
    lines = ["income,sex,amount,default"]
    for _ in range(300):
        income, yes = random.normal(), random.random()
        label = "yes" if yes < 1 / (1 + np.exp(1 + income)) else "no"
        lines.append(f"{income:.3f},{random.choice(['F', 'M'])},${random.integers(10, 900)},{label}")
    (tmp_path / "loans.csv").write_text("\n".join(lines))
    return tmp_path


def test_a_model_is_trained_and_audited_by_what_its_errors_cost(table, capsys):
    about = [str(table / "loans.csv"), "--label", "default"]
    objective, budget = 'cost(false_negative=3, column="amount")', "predicted_positives(per=1000) <= 400"
    out = ["--out", str(table / "model"), "--fail-on", "training", "--quiet"]
    train = ["train", *about, "--minimize", objective, "--require", budget, "--exclude", "amount"]
    assert main([*train, *out]) == 0
    audit = ["audit", str(table / "model"), *about, "--json", str(table / "audit.json")]
    assert main(audit) in (0, 1)
    assert objective in capsys.readouterr().out
    report = json.loads((table / "audit.json").read_text())
    assert report["promises"][0]["words"].startswith("predicted_positives(per=1000)")


def test_a_column_that_is_no_amount_is_refused(table, capsys):
    train = ["train", str(table / "loans.csv"), "--label", "default", "--minimize", 'cost(column="sex")']
    assert main([*train, "--out", str(table / "model")]) == 2
    assert "column 'sex' is used as a cost, but does not hold numbers" in capsys.readouterr().err
