"""The command line where groups are guessed, audited or missing in some rows."""

import json

import numpy as np
import pytest

from ratebound._old.cli import main

RULE = 'positive_rate(race == "a") >= 0.7 * positive_rate(race == "b")'
WAYS = {
    "probabilities": "race: p_a, p_b",
    "audited": "race: audited = seen",
    "anything": "race: missing = anything",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("guessed")
    random = np.random.default_rng(0)
    for name, rows in (("train", 900), ("new", 900)):
        x, z = random.normal(size=(2, rows))
        yes = x + 0.4 * z + random.normal(0, 0.7, rows) > 0
        p = np.where(x < 0, 0.55, 0.25)
        race = np.where(random.random(rows) < p, "a", "b")
        seen = np.where(random.random(rows) < 0.5, race, "")
        known = np.where(random.random(rows) < 0.02, "", race)
        own = {"probabilities": (p, 1 - p), "audited": (race, seen), "anything": (known,)}
        names = {"probabilities": "p_a,p_b", "audited": "race,seen", "anything": "race"}
        for way, columns in own.items():
            lines = [",".join(map(str, row)) for row in zip(x, z, yes, *columns, strict=True)]
            text = "\n".join([f"x,z,y,{names[way]}", *lines])
            (place / f"{name}_{way}.csv").write_text(text + "\n")
    return place


@pytest.mark.parametrize("way", WAYS)
def test_a_saved_model_knows_how_its_groups_are_known(folder, capsys, way) -> None:
    train, new, out = (str(folder / each) for each in (f"train_{way}.csv", f"new_{way}.csv", way))
    asked = ["train", train, "--label", "y", "--require", RULE, "--guessed", WAYS[way]]
    assert (
        main([*asked, "--out", out, "--quiet", "--exclude", "race" * (way != "probabilities") or "p_a"])
        == 0
    )
    capsys.readouterr()
    assert main(["audit", out, new, "--label", "y", "--json", "--quiet"]) in (0, 1)
    report = json.loads(capsys.readouterr().out)
    said = {"probabilities": "assumed to be right", "audited": "a random sample", "anything": "whatever"}
    assert said[way] in " ".join(report["guessed"])
    assert report["populations"] == {"audited": 900}
    main(["certify", out, new, "--label", "y", "--json", "--quiet"])
    certificate = json.loads(capsys.readouterr().out)
    assert said[way] in " ".join(certificate["guessed"])
    if way == "probabilities":
        assert not certificate["holds"]
        assert "whose true group is known" in str(certificate)
    main(["predict", out, new, "--quiet"])
    assert len(capsys.readouterr().out.splitlines()) == 901


def test_a_run_file_says_it_too(folder, capsys) -> None:
    run = folder / "run.toml"
    words = f"data = 'train_audited.csv'\nlabel = 'y'\nout = 'from_file'\nrequire = '{RULE}'\n"
    run.write_text(f"{words}guessed = 'race: audited = seen, worst = 0.9'\nexclude = ['race']\n")
    main(["train", str(run), "--json", "--quiet"])
    told = json.loads(capsys.readouterr().out)
    assert "are asked for every grouping" in told["status"]
    assert "--guessed 'race: audited = seen, worst = 0.9'" in told["audit"]["provenance"]["command"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("race", "cannot read 'race': write 'race: p_black, p_white'"),
        ("race: p_a", "probabilities of at least two values"),
        ("race: audited = seen, p_a", "cannot read"),
        ("race: missing = nothing", "missing= takes 'anything'"),
        ("race: audited = seen, worst = 2", "worst, a confidence such as 0.9,"),
        ("race: p_c, p_b", 'there is no probability that race is "a"'),
        ("race: a = x, b = z", "column 'x' holds -"),
        ("race: a = p_a, b = p_c", "no column 'p_c'"),
    ],
)
def test_what_is_said_wrong_is_refused(folder, refused, words, said) -> None:
    table = folder / "train_probabilities.csv"
    asked = ["train", table, "--label", "y", "--require", RULE, "--out", folder / "none"]
    assert said in refused(*asked, "--guessed", words)
