"""Own data is kept under a name and comes back as it was, with the schema that reads new files."""

from __future__ import annotations

from pathlib import Path

import pytest

from geco.data.load_dataset import load
from geco.data.paths import imported
from geco.data.user.read import read_own
from geco.data.user.schema import OwnOptions
from geco.data.user.stored import store, stored, stored_schema
from geco.errors import DataError, UsageError


def test_kept_and_found_again(folder: Path) -> None:
    dataset, schema = read_own(folder)
    path = store(dataset, "my-graph.1", schema)
    assert path.is_dir()
    found = stored("my-graph.1")
    assert found is not None
    assert found.info.name == "my-graph.1"
    assert found.arrays.keys() == dataset.arrays.keys()
    assert all(found.arrays[name].equal(array) for name, array in dataset.arrays.items())
    assert stored_schema("my-graph.1") == schema
    assert load("my-graph.1").fingerprint == found.fingerprint


def test_names_are_listed(folder: Path, cache: Path) -> None:
    assert list(imported()) == []
    dataset, schema = read_own(folder)
    for name in ("two", "one"):
        store(dataset, name, schema)
    (cache / "own" / "other").mkdir()
    (cache / "own" / "other" / "manifest.json").write_text("[]")
    assert list(imported()) == ["one", "two"]


def test_stored_again_replaces_if_asked(folder: Path) -> None:
    store(read_own(folder)[0], "graph")
    with pytest.raises(UsageError, match=r"you have a data set called graph; .* replace it with --replace"):
        store(read_own(folder, OwnOptions(directed=True))[0], "graph")
    assert getattr(stored("graph"), "num_edges", 0) == 4
    store(read_own(folder, OwnOptions(directed=True))[0], "graph", replace=True)
    found = stored("graph")
    assert found is not None
    assert found.num_edges == 2
    assert stored_schema("graph") is None


@pytest.mark.parametrize("name", ["", "Big", "a/b", "../a", "a b", ".hidden", "x" * 65])
def test_names_that_cannot_be(folder: Path, name: str) -> None:
    with pytest.raises(UsageError, match="is not usable"):
        store(read_own(folder)[0], name)
    assert stored(name) is None


@pytest.mark.parametrize("name", ["cora", "digits", "ogbg-molhiv"])
def test_names_of_known_data_sets_are_refused(folder: Path, name: str) -> None:
    with pytest.raises(UsageError, match="is the name of a data set that GECO knows"):
        store(read_own(folder)[0], name)


def test_a_damaged_entry_says_what_to_do(folder: Path) -> None:
    path = store(read_own(folder)[0], "graph")
    (path / "data.safetensors").write_bytes(b"")
    with pytest.raises(
        DataError, match=r"graph-.* is damaged \(.*\); import it again with `geco data import PATH --name graph`"
    ):
        stored("graph")


def test_schema_survives_the_cache(folder: Path) -> None:
    dataset, schema = read_own(folder)
    store(dataset, "graph", schema)
    (folder / "nodes.csv").write_text("id,colour\nq,blue\n")
    (folder / "edges.csv").write_text("source,target\n")
    found = stored_schema("graph")
    assert read_own(folder, schema=found)[0][0].x.tolist() == [[1, 0]]
