from __future__ import annotations

from pathlib import Path

import pytest

from stream_anon.errors import InputError

pa = pytest.importorskip("pyarrow", reason="needs the extra `frames`")


@pytest.mark.parametrize("column", [[1, 2], [{"qzqzq": 1}, None]])
def test_a_name_that_is_not_utf8_is_told_without_the_name(tmp_path: Path, column: list[object]) -> None:
    import pyarrow.parquet as pq

    from stream_anon.formats.tables.arrow.parquet_input import opened_parquet

    path = tmp_path / "people.parquet"
    pq.write_table(pa.table({"qzqzq": column}), path)
    path.write_bytes(path.read_bytes().replace(b"qzqzq", b"q\xff\xfeqq"))
    with pytest.raises(InputError, match="the name of a column is not UTF-8"):
        opened_parquet(str(path))
