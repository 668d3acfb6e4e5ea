"""Certifying a saved model from the command line."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

import ratebound._old as rb
from ratebound._old.solution.deciders import Draw
from ratebound._old.solution.mixture import Members
from ratebound._old.tables.contents import digest_of, digests_of

from ..extras import pd
from .conftest import PROMISE, make_people, write_csv


def test_certify_on_new_rows(run, model, new_people, tmp_path):
    data = tmp_path / "certificate.json"
    before = (model / "model.safetensors").read_bytes()
    answer = run("certify", model, new_people, "--label", "income", "--json", data)
    found = json.loads(data.read_text("utf-8"))
    assert answer.status == (0 if found["holds"] else 1)
    assert PROMISE in answer.out
    assert found["populations"] == {"certified": 400}
    assert (model / "model.safetensors").read_bytes() == before  # nothing is kept unless asked for
    sure = run("certify", model, new_people, "--label", "income", "--confidence", "0.999999")
    assert sure.status == 1
    assert "99.9999% confidence" in sure.out


def test_many_rows_certify_what_holds(run, model, tmp_path):
    """A promise that the model keeps with a large margin; its certificate stays with the model."""
    folder = shutil.copytree(model, tmp_path / "model")
    loaded = rb.load(folder)
    easy = rb.Problem(rb.error_rate(), [rb.recall(sex="Female") >= 0.3 * rb.recall()])
    loaded.recorded(problem=easy, status=rb.Status(True, 0.0, (), (), ""), violations={},
                    objectives={}).save(folder)  # fmt: skip
    before = (folder / "model.safetensors").read_bytes()
    rows = write_csv(tmp_path / "many.csv", make_people(3000, seed=5))
    answer = run("certify", folder, rows, "--label", "income", "--save")
    assert answer.status == 0
    assert "Certified: the promise holds on new rows like these" in answer.out
    kept = rb.load(folder).certificate
    assert kept.holds
    assert str(kept) + "\n" == answer.out
    assert (folder / "model.safetensors").read_bytes() == before
    audited = json.loads((folder / "audit.json").read_text("utf-8"))
    assert audited["card"]["certificate"] == kept.to_dict()
    assert kept.summary in (folder / "report.html").read_text("utf-8")
    again = rb.load(folder).recorded(certificate=None).save(tmp_path / "file.safetensors")
    assert again.read_bytes() == before
    alone = run("certify", again, rows, "--label", "income", "--save")  # a file without a folder
    assert (alone.status, str(rb.load(again).certificate)) == (0, str(kept))
    average = run("certify", folder, rows, "--label", "income", "--in-expectation")
    assert average.status in (0, 1)


def test_the_table_trained_on_certifies_nothing(refused, model, people, new_people, tmp_path):
    copied = tmp_path / "copy.csv"
    copied.write_bytes(people.read_bytes())
    for path in (people, copied):
        said = refused("certify", model, path, "--label", "income")
        assert "is the table that the model was trained on" in said
    assert rb.load(model).record.source != digest_of(digests_of([new_people]))


def test_slips(refused, model, new_people):
    assert "no label column 'incme'" in refused("certify", model, new_people, "--label", "incme")
    said = refused("certify", model, new_people, "--label", "income", "--confidence", "95")
    assert "confidence, a probability such as 0.95" in said


def test_a_certificate_of_another_model_is_not_taken(run, model, new_people, tmp_path):
    folder = shutil.copytree(model, tmp_path / "model")
    run("certify", folder, new_people, "--label", "income", "--save")
    assert rb.load(folder).certificate is not None
    loaded = rb.load(folder)
    loaded.recorded(certificate=None, seed=99).save(folder)  # another one in its place
    assert rb.load(folder).certificate is None


@pytest.fixture
def drawing(model, tmp_path):
    """The model beside its opposite, each of which decides half of the rows."""
    loaded = rb.load(model)
    chosen = loaded.parameters[loaded.decider.alone(0)[1]][:1]
    members = Members(np.array([0.5, 0.5]), np.concatenate([chosen, -chosen]), loaded.scorer, {})
    both = replace(loaded, members=members, decider=Draw(salt=3), calibration=None)
    plain = rb.Problem("error_rate()", ["positive_rate() <= 0.9", 'recall(sex == "Female") >= 0.2'])
    record = {"problem": plain, "status": rb.Status(True, 0.0, (), (), ""), "prices": (), "course": None}
    return both.recorded(violations={}, objectives={}, **record).save(tmp_path / "drawing.safetensors")


@pytest.mark.parametrize("on_disk", [False, True])
def test_ids_decide_what_is_predicted_audited_and_certified(run, drawing, tmp_path, on_disk):
    """For a mixture that draws, all of them count the decisions that the same ids make."""
    table = make_people(600, seed=8)
    table["id"] = [str(i) if i % 2 else f"p{i}" for i in range(600)]
    rows, how = write_csv(tmp_path / "rows.csv", table), ["--label", "income", "--key", "id"]
    if on_disk:
        pytest.importorskip("pyarrow")
        how.append("--on-disk")
    data = tmp_path / "answer.json"
    said = run("predict", drawing, rows, "--key", "id", *how[4:])
    yes = np.array([line.rsplit(",", 1)[1] == ">50K" for line in said.out.split()[1:]])
    women = (np.array(table["sex"]) == "Female") & (np.array(table["income"]) == ">50K")
    for command in ("audit", "certify"):
        run(command, drawing, rows, *how, "--json", data)
        values = [promise["value"] for promise in json.loads(data.read_text("utf-8"))["promises"]]
        assert values == pytest.approx([yes.mean(), yes[women].mean()], abs=1e-12)
    run("certify", drawing, rows, *how[:2], *how[4:], "--json", data)
    other = [promise["value"] for promise in json.loads(data.read_text("utf-8"))["promises"]]
    assert other != pytest.approx([yes.mean(), yes[women].mean()], abs=1e-12)  # a hash of features


def test_the_estimator_certifies_by_ids(drawing):
    table = {name: np.array(values) for name, values in make_people(500, seed=9).items()}
    model = rb.load(drawing)
    X = pd.DataFrame({name: table[name] for name in ("age", "hours", "sex", "city", "id")})
    yes = model.predict(X, key=table["id"]) == ">50K"
    for measured in (
        model.audit(X, table["income"], key="id"),
        model.certify(X, table["income"], key="id"),
    ):
        assert measured.promises[0].value == pytest.approx(yes.mean(), abs=1e-12)
    with pytest.raises(ValueError, match=r"certify: key='ids': .*no column 'ids'"):
        model.certify(X, table["income"], key="ids")
    with pytest.raises(ValueError, match="an expectation has no use for it"):
        model.certify(X, table["income"], key="id", in_expectation=True)
