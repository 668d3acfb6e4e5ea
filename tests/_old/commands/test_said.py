"""A command line that is put together from what was asked for asks for the same again."""

import shlex

from ratebound._old.arguments import parser
from ratebound._old.commands.runs import Run, as_command, read_run


def test_there_and_back():
    asked = Run(
        ("a b.csv", "c.csv"),
        label="income",
        positive="-1",
        require=('recall(sex == "F") >= 0.9', "positive_rate() <= 0.2"),
        exclude=("sex", "two words"),
        population={"pool": "pool.csv"},
        header=False,
        drop_unlabelled=True,
        confidence=None,
        holdout=0.25,
        max_time=600.0,
        seed=3,
    )
    given = vars(parser().parse_args(shlex.split(as_command("train", asked))[1:]))
    assert given.pop("command") == "train"
    assert read_run(given) == asked
