"""What a message of Arrow says that it unpacks to, beside what it does."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import ipc

from geodis import load_array, load_factors
from geodis.base.check import InputError
from geodis.data.files import limits
from geodis.data.files.columnar import size_of_message

TABLE = pa.table(
    {
        "x": np.arange(5000.0),
        "few": [None if i % 7 == 0 else i for i in range(5000)],
        "text": [f"text {i % 9}" for i in range(5000)],
        "kind": pa.array(["box", "dot"] * 2500).dictionary_encode(),
    }
)


def write(path, table, packed):
    options = ipc.IpcWriteOptions(compression=packed)
    with pa.OSFile(str(path), "wb") as sink, ipc.new_file(sink, table.schema, options=options) as w:
        w.write_table(table, max_chunksize=2000)


@pytest.mark.parametrize("packed", [None, "lz4", "zstd"])
def test_sizes_are_those_of_the_batches(tmp_path, packed):
    write(tmp_path / "t.feather", TABLE, packed)
    with pa.OSFile(str(tmp_path / "t.feather")) as source:
        source.seek(8)
        messages = [*ipc.MessageReader.open_stream(source)]
    told = [size_of_message(m) for m in messages if m.type == "record batch"]
    with pa.OSFile(str(tmp_path / "t.feather")) as source, ipc.open_file(source) as file:
        batches = [file.get_batch(i) for i in range(file.num_record_batches)]
    assert [rows for rows, _ in told] == [batch.num_rows for batch in batches] == [2000, 2000, 1000]
    for (_, n_bytes), batch in zip(told, batches, strict=True):
        # A batch counts its dictionary and the gaps between buffers too.
        assert 0.5 * batch.get_total_buffer_size() < n_bytes <= batch.get_total_buffer_size() + 64
    factors = load_factors(tmp_path / "t.feather")
    pd.testing.assert_series_equal(
        pd.Series(factors.values[:, 1]), TABLE["few"].to_pandas(), check_names=False
    )


def test_a_packed_batch_is_refused_before_it_is_opened(tmp_path, monkeypatch):
    write(tmp_path / "t.feather", pa.table({"x": np.zeros(2000)}), "zstd")

    def opened(*_):
        raise AssertionError("a batch was unpacked")

    monkeypatch.setattr(limits, "ALWAYS", 2**10)
    monkeypatch.setattr(limits, "MULTIPLE", 1)
    monkeypatch.setattr(ipc, "open_stream", opened)
    with pytest.raises(InputError, match="would take 16000 bytes once unpacked"):
        load_array(tmp_path / "t.feather")
