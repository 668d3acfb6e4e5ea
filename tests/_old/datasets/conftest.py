"""The larger files lie beside the repository, in ../shared/data, on machines that have them."""

from pathlib import Path

import pytest

SHARED = Path(__file__).parents[4] / "shared" / "data"


@pytest.fixture(scope="session")
def folder_with():
    """The folder that holds the file of this name; the test is skipped if there is no such file."""

    def find(name: str) -> Path:
        if not (SHARED / name).exists():
            pytest.skip(f"no copy of this file at ../shared/data/{name}")
        return SHARED

    return find
