from __future__ import annotations

import os
from xml.etree import ElementTree

import pytest
import torch
from torch_geometric.data import Data

from geco.data.molecules import ATOM_CATEGORIES, BOND_CATEGORIES, graph_from_smiles
from geco.explain.explain import explain
from geco.explain.explanation import Explanation
from geco.explain.molecule import rebuilt
from geco.explain.question import ask
from geco.nn.network.network import Network
from tests.explain.networks import info

rdkit = pytest.importorskip("rdkit")
SMILES = [
    "CC(=O)Oc1ccccc1C(=O)O", "c1cc[nH]c1", "C[N+](C)(C)CC([O-])=O", "C/C=C/C#N", "O=S(=O)(O)c1ccc2ccccc2c1",
    "[Na+].[Cl-]", "F[P-](F)(F)(F)(F)F", "C",
]  # fmt: skip


def about(smiles: str) -> Explanation:
    graph = {name: torch.from_numpy(array) for name, array in graph_from_smiles(smiles).items()}
    torch.manual_seed(0)
    net = Network(
        "hybrid", 9, "graph", 2, categories=ATOM_CATEGORIES, edge_columns=3, edge_categories=BOND_CATEGORIES,
        hidden_channels=8,
    )  # fmt: skip
    data = Data(**graph, num_nodes=len(graph["x"]))
    labels = info("labels", "graph", 2, names=("toxic", "soluble"), categories=ATOM_CATEGORIES)
    return explain(ask(net, labels, data), asked="graph 0", molecule=True)


@pytest.mark.parametrize("smiles", SMILES)
def test_molecules_are_rebuilt_from_their_features(smiles: str) -> None:
    from rdkit import Chem

    graph = graph_from_smiles(smiles)
    found = rebuilt(graph["x"], graph["edge_index"], graph["edge_attr"])
    wanted = Chem.MolFromSmiles(smiles)
    plain = {Chem.MolToSmiles(Chem.MolFromSmiles(Chem.MolToSmiles(m)), isomericSmiles=False) for m in (found, wanted)}
    assert len(plain) == 1
    assert [atom.GetSymbol() for atom in found.GetAtoms()] == [atom.GetSymbol() for atom in wanted.GetAtoms()]


def test_atoms_and_bonds_are_shaded() -> None:
    found = about(SMILES[0])
    assert len(found.nodes) == len(found.edges) == 13
    svg = found.svg()
    ElementTree.fromstring(svg)
    assert svg.count("<ellipse") == 13
    assert svg.startswith("<svg")
    assert found.png().startswith(b"\x89PNG")


@pytest.mark.parametrize("smiles", ["C", "[Na+].[Cl-]"])
def test_molecules_without_bonds(smiles: str) -> None:
    found = about(smiles)
    assert found.edges == ()
    ElementTree.fromstring(found.svg())


@pytest.mark.real
def test_a_peptide_is_drawn() -> None:
    """The picture, of a network that is not trained."""
    from geco.data.load_dataset import load

    dataset = load("peptides-func", os.environ["GECO_DATA"])
    data = dataset.batch([0])
    torch.manual_seed(0)
    net = Network("geco", 9, "graph", 10, categories=ATOM_CATEGORIES, hidden_channels=16)
    found = explain(ask(net, dataset.info, data), asked="graph 0", molecule=True)
    assert found.svg().count("<ellipse") == data.num_nodes
