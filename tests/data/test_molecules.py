from __future__ import annotations

import builtins
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geco.data import molecules
from geco.data.molecules import (
    ATOM_CATEGORIES,
    BOND_CATEGORIES,
    blocks_from_smiles,
    graph_from_smiles,
    graphs_from_smiles,
    scaffold,
)
from geco.errors import DataError

sys.modules.setdefault("outdated", None)  # type: ignore[arg-type]

# Rings, charges, stereo centres and bonds, several parts, an isotope, a metal, no bonds at all.
SOUND = [
    "CCO",
    "c1ccccc1",
    "N[C@@H](C)C(=O)O",
    "F/C=C/F",
    "F/C=C\\F",
    "[Na+].[Cl-]",
    "C",
    "[13CH4]",
    "C#N",
    "O=[Fe]",
    "C1CC1.CC",
]
ODD = "O=C1O[Al]23(OC1=O)(OC(=O)C(=O)O2)OC(=O)C(=O)O3"  # six bonds at aluminium


def test_categories_are_those_of_ogb() -> None:
    from ogb.utils.features import get_atom_feature_dims, get_bond_feature_dims

    assert tuple(get_atom_feature_dims()) == ATOM_CATEGORIES
    assert tuple(get_bond_feature_dims()) == BOND_CATEGORIES


@pytest.mark.parametrize("smiles", SOUND)
def test_a_graph_is_what_ogb_makes(smiles: str) -> None:
    from ogb.utils.mol import smiles2graph

    found, wanted = graph_from_smiles(smiles), smiles2graph(smiles)
    for name, theirs in (("x", "node_feat"), ("edge_index", "edge_index"), ("edge_attr", "edge_feat")):
        assert found[name].dtype == np.int64
        np.testing.assert_array_equal(found[name], wanted[theirs])


def test_valences_rdkit_does_not_allow_are_kept(caplog: pytest.LogCaptureFixture) -> None:
    graph = graph_from_smiles(ODD)
    assert graph["x"].shape == (19, 9)
    assert graph["edge_index"].shape == (2, 42)
    aluminium = graph["x"][graph["x"][:, 0] == 12][0]
    assert aluminium[2] == 6  # bonds
    ring = graph["x"][:, 8]
    assert ring.sum() == 13  # rings are found: all but the six oxygens of C=O
    assert set(graph["x"][:, 6]) == {1, 3}  # so are hybridisations: SP2, and SP3D of the metal
    (block,) = blocks_from_smiles(["C", ODD])
    assert block.odd == 1
    assert "1 of 2 molecules" in caplog.text


@given(st.lists(st.sampled_from([*SOUND, ODD]), max_size=12), st.integers(1, 5))
def test_many_are_the_same_as_one_after_another(smiles: list[str], block: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(molecules, "BLOCK", block)
        found = list(graphs_from_smiles(smiles, workers=1))
    assert len(found) == len(smiles)
    for graph, line in zip(found, smiles, strict=True):
        for name, wanted in graph_from_smiles(line).items():
            np.testing.assert_array_equal(graph[name], wanted)


def test_blocks_are_compact() -> None:
    (block,) = blocks_from_smiles(SOUND)
    assert (block.x.dtype, block.edge_index.dtype, block.edge_attr.dtype) == (np.uint8, np.int8, np.uint8)
    (block,) = blocks_from_smiles(["C" * 128, "C" * 129])
    assert block.edge_index.max() == 128
    assert (block.edge_index >= 0).all()


def test_processes_give_the_same_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(molecules, "BLOCK", 3)
    smiles = ["C" * (1 + i % 7) for i in range(50)]
    found = [len(graph["x"]) for graph in graphs_from_smiles(smiles, workers=2)]
    assert found == [len(line) for line in smiles]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("wrong", ["C1CC", "", "c1cccc1", "hello", float("nan"), "C=O=C(("])
def test_what_is_no_molecule_is_named_with_its_row(wrong: Any, workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(molecules, "BLOCK", 2)
    with pytest.raises(DataError, match=r"^row 4: ") as caught:
        list(graphs_from_smiles(["C", "CC", "CCC", wrong, "C", "C"], workers))
    assert repr(wrong) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_wrong_molecule_alone() -> None:
    with pytest.raises(DataError, match="not a SMILES that RDKit can read"):
        graph_from_smiles("not one")


@pytest.mark.parametrize("smiles", SOUND)
def test_a_scaffold_is_that_of_rdkit(smiles: str) -> None:
    from rdkit.Chem.Scaffolds.MurckoScaffold import MurckoScaffoldSmiles

    assert scaffold(smiles) == MurckoScaffoldSmiles(smiles, includeChirality=False)


def test_scaffold() -> None:
    assert scaffold("CCc1ccccc1CC") == "c1ccccc1"
    assert scaffold("C1CC1CCc1ccccc1F") == scaffold("C1CC1CCc1ccccc1")
    assert scaffold("CCO") == ""
    assert scaffold("[C@H]1(F)CCCCO1") == scaffold("C1CCCCO1")
    assert scaffold(ODD)  # kept molecules have one too
    with pytest.raises(DataError):
        scaffold("C1CC")


def test_without_the_extra_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def no_rdkit(name: str, *args: Any) -> Any:
        if name.startswith("rdkit"):
            raise ImportError("No module named 'rdkit'")
        return real(name, *args)

    molecules._rdkit.cache_clear()
    monkeypatch.setattr(builtins, "__import__", no_rdkit)
    with pytest.raises(DataError, match=r'pip install "geco-graph\[mol\]"'):
        graph_from_smiles("C")


def test_importing_needs_neither_rdkit_nor_torch_and_logs_are_left_as_they_were() -> None:
    program = """
import sys
from geco.data.molecules import graph_from_smiles, graphs_from_smiles
assert not {"rdkit", "ogb", "torch"} & set(sys.modules)
try:
    graph_from_smiles("C1CC")
except ValueError:
    print("refused", file=sys.stderr)
assert "torch" not in sys.modules
from rdkit import Chem
Chem.MolFromSmiles("C1CC")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    before, after = done.stderr.split("refused")
    assert before == ""  # RDKit is silent while we use it
    assert "SMILES Parse Error" in after  # and speaks again afterwards
