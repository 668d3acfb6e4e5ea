"""Names and values of a table never reach a terminal as characters that it obeys."""

import contextlib
import io
import json
import unicodedata

import numpy as np
import pytest

import ratebound as rb
import ratebound._old as old
from ratebound._bridge import make_policy
from ratebound._old.cli import main

from ..extras import pd
from .conftest import write_csv

UP, BACK, TURN = "\x1b[1A\x1b[2K", "\b\b\r", "\u202e"


def obeyed(text):
    return {each for each in text.replace("\n", "") if unicodedata.category(each) in ("Cc", "Cf")}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A table whose every word is hostile."""
    rng = np.random.default_rng(0)
    n = 160
    x = rng.normal(size=n)
    return write_csv(
        tmp_path_factory.mktemp("hostile") / "t.csv",
        {
            f"x{UP}": x,
            f"g{TURN}": rng.choice(["a", f"b{UP}"], n),
            f"constant{BACK}": ["c"] * n,
            f"y{TURN}": np.where(x + rng.normal(size=n) > 0, f"yes{UP}", f"no{TURN}"),
        },
    )


def test_no_command_prints_them(hostile, tmp_path):
    label, model, table = f"y{TURN}", str(tmp_path / "model"), str(hostile)
    promise = f'equal_opportunity(column("g{TURN}"), slack=0.5)'
    asked = ["--label", label, "--require", promise]
    calls = [
        ["inspect", table, "--label", label],
        ["train", table, *asked, "--out", model, "--confidence", "none"],
        ["audit", model, table, "--label", label],
        ["certify", model, table, "--label", label],
        ["monitor", model, table, "--label", label, "--state", str(tmp_path / "state")],
        ["audit", model, table, "--label", f"none{UP}"],
        ["train", table, "--label", f"none{UP}", "--out", model],
        ["train", table, "--label", label, "--features", f"none{BACK}", "--out", model],
        ["predict", model, str(tmp_path / f"lost{UP}.csv")],
        [f"comm{UP}and"],
    ]
    for call in calls:
        out, err = io.StringIO(), io.StringIO()
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            contextlib.suppress(SystemExit),
        ):
            main(call)
        assert out.getvalue() + err.getvalue(), call
        assert not obeyed(out.getvalue()), call
        assert not obeyed(err.getvalue()), call


def test_data_is_as_it_is_except_on_a_terminal(hostile, tmp_path):
    label, model, table = f"y{TURN}", str(tmp_path / "model"), str(hostile)
    main(["train", table, "--label", label, "--out", model, "--quiet"])

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    for flags in ([], ["--json", "-"]):
        said = {}
        for kind in (io.StringIO, Terminal):
            with contextlib.redirect_stdout(kind()) as out:
                assert main(["predict", model, table, *flags]) == 0
            said[kind] = out.getvalue()
        assert not obeyed(said[Terminal])
        assert f"no{TURN}" in said[io.StringIO]
        if flags:
            assert json.loads(said[io.StringIO]) == json.loads(said[Terminal])


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_no_report_nor_error_prints_them_in_python(hostile):
    table = pd.read_csv(hostile)
    label = table.pop(f"y{TURN}")
    promise = rb.equal_opportunity(f"g{TURN}", slack=0.5)
    model = rb.RateConstrainedClassifier(
        promise, confidence=None, random_state=0, known=[f"g{TURN}"]
    ).fit(table, label)
    policy = make_policy(model)
    people = old.Population(table, label, positive=f"yes{UP}")
    audit = model.audit(table, label)
    certificate = old.certify(policy.problem, policy, people.only(np.arange(150)))
    told = [people, audit, repr(audit), policy, certificate, rb.inspect(table)]
    for each in [*told, rb.inspect(hostile)]:
        assert not obeyed(str(each)), each
    for call in (
        lambda: rb.inspect(table, label=f"none{UP}"),
        lambda: rb.inspect(table, features=[f"none{UP}"]),
        lambda: model.predict(table.drop(columns=f"x{UP}")),
    ):
        with pytest.raises(ValueError, match="column") as raised:
            call()
        assert not obeyed(str(raised.value))
