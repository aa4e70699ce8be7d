from __future__ import annotations

from pathlib import Path

import pytest

from geco.data.user.names import Names, nearest, read_names
from geco.data.user.read import read_own
from geco.data.user.schema import OwnOptions
from geco.data.user.stored import store, stored, stored_names
from geco.errors import UsageError


def folder(path: Path, ids: list[str]) -> Path:
    (path / "nodes.csv").write_text("\n".join(["id,size,team", *(f"{name},{i},{i % 2}" for i, name in enumerate(ids))]))
    (path / "edges.csv").write_text(f"source,target\n{ids[0]},{ids[1]}\n")
    return path


def test_names_are_kept_beside_the_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GECO_CACHE", str(tmp_path / "cache"))
    ids = ["zoë", "b", "cc", *(f"n{i}" for i in range(9))]
    path = folder(tmp_path, ids)
    dataset, schema = read_own(path, OwnOptions(label=("team",)))
    store(dataset, "with", schema, names=read_names(path, schema))
    store(dataset, "without", schema)  # as it was before names were kept
    assert stored_names("with").nodes == tuple(ids)
    assert stored_names("without") == stored_names("nowhere") == Names()
    one, two = stored("with"), stored("without")
    assert one is not None
    assert two is not None
    assert one.arrays.keys() == two.arrays.keys() == dataset.arrays.keys()


def test_graphs_have_names_too(tmp_path: Path) -> None:
    rows = [f"{g}{i},{g},{i}" for g in ("b", "a") for i in range(3)]
    (tmp_path / "nodes.csv").write_text("\n".join(["id,graph,size", *rows]))
    (tmp_path / "edges.csv").write_text("source,target\nb0,b1\na0,a1\n")
    (tmp_path / "graphs.csv").write_text("graph,label\na,x\nb,y\n")
    dataset, schema = read_own(tmp_path, OwnOptions(fractions=(0.5, 0.5, 0.0)))
    names = read_names(tmp_path, schema)
    assert list(names.graphs) == ["a", "b"]
    assert [name[0] for name in names.nodes] == ["a"] * 3 + ["b"] * 3
    assert dataset[1].x[:, 0].tolist() == [0, 1, 2]


def test_molecules_have_names_and_atoms_numbers(tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    lines = [f"m{i},{'C' * (i + 1)},{i}" for i in range(10)]
    (tmp_path / "m.csv").write_text("\n".join(["id,smiles,y", *lines]))
    _, schema = read_own(tmp_path / "m.csv")
    assert read_names(tmp_path / "m.csv", schema) == Names((), tuple(f"m{i}" for i in range(10)))


def test_names_survive_packing() -> None:
    names = Names(("", "a b", "日本", "x" * 300), ("g",))
    assert Names.unpacked(names.packed()) == names
    assert Names().packed() == {}


def test_the_nearest_name_is_said() -> None:
    assert nearest("b", ["a", "b", "b"], "node") == [1, 2]
    with pytest.raises(UsageError, match=r"no node is called 'qqq'; there are 'a', 'b' and so on \(2 in all\)"):
        nearest("qqq", ["a", "b"], "node")
