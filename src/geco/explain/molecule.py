"""The picture of a molecule: atoms shaded by what they give to a prediction, bonds by what they give.

The molecule is rebuilt from OGB's features of atoms and bonds, so no SMILES is needed. Needs RDKit.
"""

from __future__ import annotations

import contextlib
from html import escape
from typing import Any

from geco.errors import DataError
from geco.explain.drawing import shade
from geco.explain.findings import Effect, Findings

__all__ = ["molecule_png", "molecule_svg", "rebuilt"]

BONDS = ("SINGLE", "DOUBLE", "TRIPLE", "AROMATIC")  # by category; others are drawn as single
ELEMENT, CHARGE, HYDROGENS, AROMATIC = 0, 3, 4, 7  # columns of the features of an atom
LOWEST = -5  # charge of category 0


def rebuilt(x: Any, edge_index: Any, edge_attr: Any) -> Any:
    """Return RDKit's molecule of a graph with OGB's features, its atoms in their order.

    Args:
        x: categories of the atoms, ``(N, 9)``.
        edge_index: ``(2, M)``, both directions.
        edge_attr: categories of the bonds ``(M, 3)``; None where they are not known.

    Example:
        >>> from geco.data.molecules import graph_from_smiles
        >>> graph = graph_from_smiles("CC(=O)[O-]")
        >>> rebuilt(graph["x"], graph["edge_index"], graph["edge_attr"]).GetNumAtoms()
        4
    """
    try:
        from rdkit import Chem
    except ImportError as error:
        raise DataError(f'pictures of molecules need RDKit ({error}); pip install "geco-graph[mol]"') from error
    molecule = Chem.RWMol()
    for row in x.tolist():
        atom = Chem.Atom(min(row[ELEMENT] + 1, 118) if row[ELEMENT] < 118 else 0)
        atom.SetFormalCharge(row[CHARGE] + LOWEST if row[CHARGE] < 11 else 0)
        atom.SetIsAromatic(bool(row[AROMATIC]))
        atom.SetNumExplicitHs(row[HYDROGENS] if row[HYDROGENS] < 9 else 0)
        atom.SetNoImplicit(True)
        molecule.AddAtom(atom)
    kinds = [0] * edge_index.shape[1] if edge_attr is None else edge_attr[:, 0].tolist()
    for (a, b), kind in zip(edge_index.T.tolist(), kinds, strict=True):
        if a < b and molecule.GetBondBetweenAtoms(a, b) is None:
            name = BONDS[kind] if kind < len(BONDS) else BONDS[0]
            molecule.AddBond(a, b, getattr(Chem.BondType, name))
    found = molecule.GetMol()
    for bond in found.GetBonds():
        bond.SetIsAromatic(bond.GetBondType() == Chem.BondType.AROMATIC)
    found.UpdatePropertyCache(strict=False)
    Chem.FastFindRings(found)
    with contextlib.suppress(Chem.KekulizeException):  # rings of a molecule that RDKit does not allow stay dashed
        Chem.Kekulize(found, clearAromaticFlags=True)
    return found


def molecule_svg(found: Findings, size: tuple[int, int] = (760, 560)) -> str:
    """Return the picture as SVG."""
    from rdkit.Chem.Draw import rdMolDraw2D

    text: str = _drawn(rdMolDraw2D.MolDraw2DSVG(*size), found)
    label = escape(f"{found.asked}, atoms shaded by what they give to the {found.quantity}")
    return text[text.index("<svg") :].replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)


def molecule_png(found: Findings, size: tuple[int, int] = (1520, 1120)) -> bytes:
    """Return the picture as PNG."""
    from rdkit.Chem.Draw import rdMolDraw2D

    image: bytes = _drawn(rdMolDraw2D.MolDraw2DCairo(*size), found)
    return image


def _drawn(canvas: Any, found: Findings) -> Any:
    from rdkit.Chem import rdDepictor

    data = found.scene.data
    molecule = rebuilt(data.x, data.edge_index, data.get("edge_attr", None))
    rdDepictor.SetPreferCoordGen(True)
    rdDepictor.Compute2DCoords(molecule)
    strongest = max((e.strength for e in (*found.nodes, *found.edges)), default=0.0) or 1.0
    atoms = {e.nodes[0]: _colour(e, strongest) for e in found.nodes}
    bonds = {}
    for e in found.edges:
        bond = molecule.GetBondBetweenAtoms(*e.nodes)
        if bond is not None:
            bonds[bond.GetIdx()] = _colour(e, strongest)
    canvas.drawOptions().useBWAtomPalette()
    canvas.drawOptions().highlightBondWidthMultiplier = 14
    canvas.drawOptions().legendFontSize = 18
    radii = {atom: 0.42 for atom in atoms}
    canvas.drawOptions().prepareMolsBeforeDrawing = False  # it is not sanitised, and may have valences RDKit refuses
    legend = f"{found.asked}, {found.quantity}: {found.value:.3g}\norange: it falls without the atom, blue: it rises"
    canvas.DrawMolecule(
        molecule, legend=legend, highlightAtoms=[*atoms],
        highlightAtomColors=atoms, highlightBonds=[*bonds], highlightBondColors=bonds, highlightAtomRadii=radii,
    )  # fmt: skip
    canvas.FinishDrawing()
    return canvas.GetDrawingText()


def _colour(effect: Effect, strongest: float) -> tuple[float, float, float]:
    """Return the shade of an effect; what gives nothing is white."""
    share = effect.strength / strongest
    if share < 0.02:
        return (1.0, 1.0, 1.0)
    text = shade(effect.change, share)
    red, green, blue = (int(text[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return red, green, blue
