"""Molecules from SMILES: atoms are nodes, bonds are edges, with the Open Graph Benchmark's nine atom and three bond
features.

Molecules with valences that RDKit does not allow (metal complexes mostly) are kept: all of its sanitisation runs but
the check of valences. Needs RDKit and OGB: ``pip install "geco-graph[mol]"``.

Shapes: N atoms, B bonds, M = 2B directed edges, both directions of a bond next to each other.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from geco.console import progress
from geco.data.parallel import in_order, processors
from geco.errors import DataError

__all__ = [
    "ATOM_CATEGORIES",
    "BOND_CATEGORIES",
    "Block",
    "blocks_from_smiles",
    "graph_from_smiles",
    "graphs_from_smiles",
    "scaffold",
]

logger = logging.getLogger(__name__)

# Categories of each column: element, chirality, degree, charge, hydrogens, radical electrons, hybridisation, aromatic,
# in ring.
ATOM_CATEGORIES = (119, 5, 12, 12, 10, 6, 6, 2, 2)
BOND_CATEGORIES = (5, 6, 2)  # type, stereo, conjugated

BLOCK = 256  # molecules a worker turns into graphs at a time: 0.1 to 1 s of work


@dataclass(frozen=True)
class Block:
    """Molecules after one another, in small types.

    Args:
        x: ``(N, 9)`` uint8 of all of them.
        edge_index: ``(2, M)``, node numbers counted within each molecule.
        edge_attr: ``(M, 3)`` uint8.
        nodes: number of atoms of each.
        edges: number of directed edges of each.
        odd: how many have valences that RDKit does not allow.
        failed: what is wrong with those that cannot be read, by row, counted from 0; nothing else here holds them.
    """

    x: np.ndarray
    edge_index: np.ndarray
    edge_attr: np.ndarray
    nodes: np.ndarray
    edges: np.ndarray
    odd: int
    failed: dict[int, str]


def graph_from_smiles(smiles: str) -> dict[str, np.ndarray]:
    """Return a molecule as a graph.

    Args:
        smiles: of the molecule; it may have several parts.

    Returns:
        ``x (N, 9)``, ``edge_index (2, M)`` and ``edge_attr (M, 3)``, int64; M is 0 where there are no bonds.

    Example:
        >>> graph = graph_from_smiles("CCO")
        >>> graph["x"].shape, graph["edge_index"].tolist()
        ((3, 9), [[0, 1, 1, 2], [1, 0, 2, 1]])
    """
    rdkit = _rdkit()
    with rdkit.rdBase.BlockLogs():
        return _graph(_molecule(rdkit, smiles)[0])


def graphs_from_smiles(
    smiles: Sequence[str], workers: int | None = None, failed: dict[int, str] | None = None
) -> Iterator[dict[str, np.ndarray]]:
    """Yield the graphs of many molecules in order, made by several processes.

    Args:
        smiles: of each molecule.
        workers: number of processes; all processors if not given, none besides this one if 1.
        failed: gets what is wrong with molecules that cannot be read, by row, counted from 0, before the next graph is
            yielded; they are left out then. Without it the first of them raises a DataError with its row, counted from
            1.

    Example:
        >>> failed = {}
        >>> [len(graph["x"]) for graph in graphs_from_smiles(["C", "Q", "CC"], failed=failed)], failed
        ([1, 2], {1: "'Q' is not a SMILES that RDKit can read"})
    """
    for block in blocks_from_smiles(smiles, workers, failed):
        node, edge = (np.concatenate([[0], count.cumsum()]) for count in (block.nodes, block.edges))
        for i in range(len(block.nodes)):
            yield {
                "x": block.x[node[i] : node[i + 1]].astype(np.int64),
                "edge_index": block.edge_index[:, edge[i] : edge[i + 1]].astype(np.int64),
                "edge_attr": block.edge_attr[edge[i] : edge[i + 1]].astype(np.int64),
            }


def blocks_from_smiles(
    smiles: Sequence[str], workers: int | None = None, failed: dict[int, str] | None = None
) -> Iterator[Block]:
    """Yield the same graphs, many in one block, for data sets of millions.

    Args:
        smiles: of each molecule.
        workers: number of processes.
        failed: see `graphs_from_smiles`.

    Example:
        >>> [block.nodes.tolist() for block in blocks_from_smiles(["C", "CC"])]
        [[1, 2]]
    """
    _rdkit()  # a missing package is reported here, and not by every worker
    tasks = [(start, list(smiles[start : start + BLOCK])) for start in range(0, len(smiles), BLOCK)]
    count = workers or processors()
    blocks = in_order(_block, tasks, count if min(count, len(tasks)) > 1 else 0)
    odd = 0
    for block in progress(blocks, "molecules", len(tasks), f"x {BLOCK}"):
        if block.failed and failed is None:
            row, why = next(iter(block.failed.items()))
            raise DataError(f"row {row + 1}: {why}")
        (failed if failed is not None else {}).update(block.failed)
        odd += block.odd
        yield block
    if odd:
        logger.warning(
            f"{odd} of {len(smiles):,} molecules have valences that RDKit does not allow; they are kept as they are "
            "written"
        )


def scaffold(smiles: str) -> str:
    """Return the SMILES of a molecule's Bemis-Murcko scaffold: its rings and what links them; empty if it has no ring.

    Example:
        >>> scaffold("CCc1ccccc1")
        'c1ccccc1'
    """
    rdkit = _rdkit()
    with rdkit.rdBase.BlockLogs():
        core = rdkit.Chem.MurckoDecompose(_molecule(rdkit, smiles)[0])
        core.ClearComputedProps()
        core.UpdatePropertyCache(strict=False)
        rdkit.Chem.GetSymmSSSR(core)
        return str(rdkit.Chem.MolToSmiles(core, isomericSmiles=False))


@cache
def _rdkit() -> ModuleType:
    """Import what molecules need, or name the extra that brings it."""
    # Ogb asks the network for a newer version otherwise.
    sys.modules.setdefault("outdated", None)  # type: ignore[arg-type]
    try:
        import ogb.utils.features  # noqa: F401
        import rdkit.Chem
        import rdkit.rdBase
    except ImportError as error:
        raise DataError(f'molecules need RDKit and OGB ({error}); pip install "geco-graph[mol]"') from error
    return rdkit


def _molecule(rdkit: ModuleType, smiles: str) -> tuple[Any, bool]:
    """Return RDKit's molecule, and whether its valences are allowed."""
    if not isinstance(smiles, str) or not smiles.strip():
        raise DataError(f"a SMILES is wanted, got {smiles!r}")
    chem = rdkit.Chem
    molecule = chem.MolFromSmiles(smiles)
    if molecule is not None:
        return molecule, True
    molecule = chem.MolFromSmiles(smiles, sanitize=False)
    if molecule is None:
        raise DataError(f"{smiles!r} is not a SMILES that RDKit can read")
    try:
        molecule.UpdatePropertyCache(strict=False)
        chem.SanitizeMol(molecule, chem.SANITIZE_ALL ^ chem.SANITIZE_PROPERTIES)
    except chem.MolSanitizeException as error:
        raise DataError(f"{smiles!r} is not a molecule: {str(error).strip()}") from None
    return molecule, False


def _graph(molecule: Any) -> dict[str, np.ndarray]:
    from ogb.utils.features import atom_to_feature_vector, bond_to_feature_vector

    atoms = [atom_to_feature_vector(atom) for atom in molecule.GetAtoms()]
    bonds = [(b.GetBeginAtomIdx(), b.GetEndAtomIdx(), *bond_to_feature_vector(b)) for b in molecule.GetBonds()]
    table = np.array(bonds, np.int64).reshape(-1, 2 + len(BOND_CATEGORIES))
    ends = np.stack([table[:, :2], table[:, 1::-1]], 1).reshape(-1, 2)  # (M, 2): each bond there, then back
    return {
        "x": np.array(atoms, np.int64).reshape(-1, len(ATOM_CATEGORIES)),
        "edge_index": np.ascontiguousarray(ends.T),
        "edge_attr": table[:, 2:].repeat(2, 0),
    }


def _block(start: int, smiles: list[str]) -> Block:
    """Return the graphs of molecules that start at a row, counted from 0."""
    rdkit = _rdkit()
    odd = 0
    graphs: list[dict[str, np.ndarray]] = []
    failed: dict[int, str] = {}
    with rdkit.rdBase.BlockLogs():
        for row, line in enumerate(smiles, start):
            try:
                molecule, valid = _molecule(rdkit, line)
            except DataError as error:
                failed[row] = str(error)
                continue
            graphs.append(_graph(molecule))
            odd += not valid
    nodes = np.array([len(graph["x"]) for graph in graphs], np.int64)
    arrays = {name: _joined(graphs, name) for name in ("x", "edge_index", "edge_attr")}
    return Block(
        x=arrays["x"].astype(np.uint8),
        edge_index=arrays["edge_index"].astype(np.min_scalar_type(-int(nodes.max(initial=1)))),
        edge_attr=arrays["edge_attr"].astype(np.uint8),
        nodes=nodes,
        edges=np.array([len(graph["edge_attr"]) for graph in graphs], np.int64),
        odd=odd,
        failed=failed,
    )


def _joined(graphs: list[dict[str, np.ndarray]], name: str) -> np.ndarray:
    empty = np.empty({"x": (0, 9), "edge_index": (2, 0), "edge_attr": (0, 3)}[name], np.int64)
    return np.concatenate([empty, *(graph[name] for graph in graphs)], 1 if name == "edge_index" else 0)
