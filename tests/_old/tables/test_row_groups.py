"""Row groups of Parquet files, dealt out to processes."""

import numpy as np
import pytest

from ratebound._old.tables._row_groups import open_groups

from ..extras import pa


def written(folder, rows, size):
    """A file of numbered rows, with row groups of this size."""
    parquet = pytest.importorskip("pyarrow.parquet")
    path = folder / "rows.parquet"
    parquet.write_table(pa.table({"number": np.arange(rows)}), path, row_group_size=size)
    return path


@pytest.mark.parametrize("count", [1, 2, 3])
def test_each_row_is_dealt_to_one_process_however_small_its_group(tmp_path, count):
    groups = open_groups(written(tmp_path, 70, size=10))
    shares = [groups.share(rank, count) for rank in range(count)]
    found = [
        np.concatenate([share.read(unit, ["number"])["number"] for unit in range(len(share.units))])
        for share in shares
    ]
    assert sorted(np.concatenate(found)) == list(range(70))
    assert [share.rows.sum() for share in shares] == [len(rows) for rows in found]
    assert max(map(len, found)) - min(map(len, found)) <= 10


def test_too_few_row_groups_are_an_error(tmp_path):
    with pytest.raises(ValueError, match=r"rows\.parquet has 2 row groups for 3 processes: write it"):
        open_groups(written(tmp_path, 20, size=10)).share(0, 3)
