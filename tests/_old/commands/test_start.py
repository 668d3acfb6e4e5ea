"""The commands of the page that people start with are run, on a part of its tables.

Its Python is doctested on the whole tables, and gives the numbers that the page shows of the commands.
"""

import re
import shlex
from pathlib import Path

import pytest

import ratebound._old as rb

PAGE = (Path(__file__).parents[3] / "docs" / "start.md").read_text("utf-8").replace("\\\n", "")
SHOWN = re.findall(r"^\$ ratebound (.*)\n((?:(?!\$ |```).*\n)*)", PAGE, re.MULTILINE)
RESULT = re.compile(
    r"[-+]?\d[\d,.]*|–|holds|may not hold|(?:not )?certified|kept|BROKEN|NOT SHOWN|[─\s]+"
)
DIFFERS = re.compile(  # with fewer rows
    r"…|Audit of|Certificate of|Certified|Training on|Status of|up to 50K$"
)


def words(line):
    """A line without its numbers and verdicts, however wide its columns are."""
    return RESULT.sub("", line)


@pytest.fixture
def tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    adult = rb.datasets.load_adult()
    for name, rows, many in (("people.csv", adult.train, 4000), ("new.csv", adult.test, 2000)):
        some = rows.only(range(many))
        income = ["over 50K" if yes else "up to 50K" for yes in some.y]
        table = {**some.columns, "income": income}
        lines = [table, *zip(*table.values(), strict=True)]
        Path(name).write_text("\n".join(",".join(map(str, line)) for line in lines), "utf-8")


@pytest.mark.usefixtures("tables")
def test_the_commands_of_the_page_run_and_say_what_it_shows(run):
    names = [command.split()[0] for command, _ in SHOWN]
    assert names == ["inspect", "explain", "train", "audit", "certify", "predict"]
    for command, shown in SHOWN:
        answer = run(*shlex.split(command))
        assert answer.status in (0, 1), answer.err  # fewer rows may be too few to certify on
        said = set(map(words, answer.out.splitlines()))
        lines = [line for line in shown.splitlines() if not DIFFERS.match(line)]
        assert [line for line in lines if words(line) not in said] == []
