"""Every ugly table is trained on, audited and predicted, and what is reported is counted again."""

import json

import numpy as np
import pytest

from .ugly import UGLY


@pytest.mark.parametrize("table", UGLY, ids=[table.name for table in UGLY])
def test_from_an_ugly_table_to_its_report(run, tmp_path, table):
    if table.arrow:
        pytest.importorskip("pyarrow")
    path, model = table.write(tmp_path), tmp_path / "model"
    label, flags = ["--label", table.label], [*table.flags, "--quiet"]
    trained = run(
        "train", path, *label, *flags, *table.train, "--confidence", "none",
        "--require", "positive_rate() <= 0.95", "--out", model,
    )  # fmt: skip
    assert trained.status == 0, trained.err
    assert trained.err.count("note:") == bool(table.notice)
    for words in table.notice:
        assert words in trained.err

    audited = run("audit", model, path, *label, *flags, "--json", "-")
    assert audited.status == 0, audited.err
    without_labels = [flag for flag in flags if flag != "--drop-unlabelled"]
    predicted = run("predict", model, path, *without_labels, "--decision-probability", "--json", "-")
    assert predicted.status == 0, predicted.err
    y = np.array(table.columns()["y"]) == table.labels[1]
    yes = np.array(json.loads(predicted.out)["decision_probability"])
    counted = slice(None)
    if "--drop-unlabelled" in flags:
        counted = np.setdiff1d(np.arange(len(y)), [2, 9])
    error = np.where(y, 1 - yes, yes)[counted].mean()
    assert json.loads(audited.out)["objective"]["value"] == pytest.approx(error, abs=1e-6)
