"""Certifying a saved model from the command line."""

import json
import shutil

import ratebound as rb
from ratebound.tables.contents import digest_of, digests_of

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
    """A promise that the model keeps with plenty to spare, on many rows; it is kept with the model."""
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
