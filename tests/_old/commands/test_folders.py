"""Files that belong together are replaced together or not at all, whatever happens meanwhile."""

import os
import threading

import pytest

from ratebound._old.commands.folders import check_files, check_folder, whole_folder

from .conftest import killed_at_any_moment

NAMES = ("model", "report", "audit")


def write(target, words):
    with whole_folder(target, NAMES) as folder:
        for name in NAMES:
            (folder / name).write_text(words)


def contents(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_other_files_stay(tmp_path):
    (tmp_path / "notes").write_text("mine")
    for words in ("old", "new"):
        write(tmp_path, words)
        assert contents(tmp_path) == {"notes": "mine"} | dict.fromkeys(NAMES, words)


@pytest.mark.parametrize("links", [True, False], ids=["links", "copies"])
@pytest.mark.parametrize("existing", [(), ("model",), ("report",), NAMES], ids=len)
def test_a_failure_at_any_step_leaves_the_folder_as_it_was(tmp_path, monkeypatch, existing, links):
    """The system refuses any one of the moves, or the program is interrupted in one of them."""
    target = tmp_path / "model"
    if existing:
        target.mkdir()
    for name in existing:
        (target / name).write_text("old")
    replace, failures = os.replace, 0

    def refuse(*_, **__):
        raise OSError(1, "Operation not permitted")

    if not links:
        monkeypatch.setattr(os, "link", refuse)
    left = 0

    def counted(*arguments):
        nonlocal left
        left -= 1
        if left == -1:
            raise KeyboardInterrupt if failures % 2 else OSError(5, "Input/output error")
        replace(*arguments)

    for step in range(20):
        left = step
        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", counted)
            try:
                write(target, "new")
            except (OSError, KeyboardInterrupt):
                failures += 1
                assert target.exists() == bool(existing)
                assert not existing or contents(target) == dict.fromkeys(existing, "old")
            else:
                break
    assert failures == 3 + len(set(existing) - {"model"}) + ("model" in existing and not links)
    assert contents(target) == dict.fromkeys(NAMES, "new")
    assert os.listdir(tmp_path) == ["model"]


def test_a_failure_while_writing_leaves_nothing(tmp_path):
    def write_half():
        with whole_folder(tmp_path / "deep" / "model", NAMES) as folder:
            (folder / "model").write_text("half")
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        write_half()
    assert list(tmp_path.glob("**/*")) == [tmp_path / "deep"]


def test_several_at_once_leave_what_one_of_them_wrote(tmp_path):
    target, failures = tmp_path / "model", []

    def over_and_over(mine):
        try:
            for turn in range(25):
                write(target, f"{mine} {turn}")
        except BaseException as error:
            failures.append(error)
            raise

    threads = [threading.Thread(target=over_and_over, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    found = contents(target)
    assert set(found) == set(NAMES)
    assert set(found.values()) <= {f"{i} 24" for i in range(4)}
    assert len(set(found.values())) == 1


CHILD = """
import sys
from pathlib import Path
from ratebound._old.commands.folders import whole_folder
turn = 0
while True:
    with whole_folder(Path(sys.argv[1]), ("model", "report", "audit")) as folder:
        for name in ("model", "report", "audit"):
            (folder / name).write_text(str(turn))
    if turn == 0:
        print("ready", flush=True)
    turn += 1
"""


@pytest.mark.parametrize("seed", range(3))
def test_killed_at_any_moment_the_first_is_there_and_never_beside_anothers(tmp_path, seed):
    folder = tmp_path / "model"
    killed_at_any_moment(CHILD, folder, seed)
    whole = {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}
    assert "model" in whole
    assert set(whole.values()) == {whole["model"]}


def test_folders_where_files_should_go_are_refused(tmp_path):
    (tmp_path / "report").mkdir()
    with pytest.raises(ValueError, match=r"report in it is a folder; it must be a file"):
        check_folder(tmp_path, NAMES)
    check_folder(tmp_path)


def test_what_is_read_is_not_written_and_no_file_twice(tmp_path):
    table, other, link = tmp_path / "table.csv", tmp_path / "other", tmp_path / "link"
    table.write_text("x\n1\n")
    link.symlink_to(table)
    for path in (table, link, tmp_path / "." / "table.csv"):
        for given in (table, tmp_path / "*.csv"):
            with pytest.raises(ValueError, match="is read here: write to another"):
                check_files({"--out": path}, [given])
    with pytest.raises(ValueError, match=f"--json {other} is what --out writes already"):
        check_files({"--out": other, "--json": str(other)})
    check_files({"--out": other, "--json": "-", "--html": None}, [table, "-"])
    check_files({"--out": os.devnull, "--json": os.devnull})
