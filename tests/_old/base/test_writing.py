"""Files are replaced whole; links stay links, and a target that is not a file is written to directly."""

import os
import stat
import threading

import pytest

from ratebound._old.base.writing import write_whole


def test_links_and_permissions_stay(tmp_path):
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("old")
    file.chmod(0o600)
    link.symlink_to(file)
    assert write_whole(link, b"new") == link
    assert link.is_symlink()
    assert file.read_text() == "new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_a_pipe_is_written_to(tmp_path):
    pipe, received = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()))
    reader.start()
    write_whole(pipe, b"words")
    reader.join()
    assert received == [b"words"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_device_stays_one():
    write_whole(os.devnull, b"words")
    assert not os.path.isfile(os.devnull)
