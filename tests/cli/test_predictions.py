"""The file of predictions: in the format of its name, refused before the work if it cannot be written."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from geco.cli.predictions import as_bytes, check_output, tabulate
from geco.data.dataset import Info
from geco.errors import UsageError

FOUND = np.array([[0.25, 0.75], [1.0, 0.0]], np.float32)


@pytest.mark.parametrize("name", ["out.txt", "out", "out.csv.zip", "parquet", "folder.csv", "nowhere/out.csv"])
def test_files_that_cannot_be_written(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(UsageError, match="cannot write"):
        check_output(tmp_path / name)


def test_parquet_needs_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_output(tmp_path / "out.parquet")
    monkeypatch.setattr("geco.cli.predictions.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"Parquet needs pyarrow; pip install .*or write .csv"):
        check_output(tmp_path / "out.parquet")


def test_each_format_holds_the_same(tmp_path: Path) -> None:
    table = tabulate(Info("a", "node", "class", 2, "accuracy", names=("cat", "dog")), ["07", "b"], {}, FOUND)
    for name in ("out.csv", "out.csv.gz", "out.parquet"):
        (tmp_path / name).write_bytes(as_bytes(table, tmp_path / name))
    text = "id,prediction,p(cat),p(dog)\n07,dog,0.25,0.75\nb,cat,1,0\n"
    assert (tmp_path / "out.csv").read_text() == text
    assert gzip.decompress((tmp_path / "out.csv.gz").read_bytes()).decode() == text
    assert as_bytes(table, tmp_path / "out.csv.gz") == (tmp_path / "out.csv.gz").read_bytes()  # no time in it
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "out.parquet"), table, check_dtype=False)


def test_rows_that_failed() -> None:
    info = Info("a", "graph", "values", 2, "mae", names=("mass", "charge"))
    table = tabulate(info, ["a", "b", "c"], {1: "it is no molecule"}, FOUND)
    text = as_bytes(table, Path("out.csv")).decode()
    assert text == "id,mass,charge,problem\na,0.25,0.75,\nb,,,it is no molecule\nc,1,0,\n"
