"""The picture of an explanation: a neighbourhood, or a molecule."""

from __future__ import annotations

from geco.explain.findings import Findings
from geco.explain.molecule import molecule_png, molecule_svg
from geco.explain.neighbourhood import neighbourhood

__all__ = ["png", "svg"]


def svg(found: Findings) -> str:
    """Return the picture as SVG."""
    return molecule_svg(found) if found.scene.molecule else neighbourhood(found).svg()


def png(found: Findings) -> bytes:
    """Return the picture as PNG; a molecule's by RDKit, others by Matplotlib."""
    return molecule_png(found) if found.scene.molecule else neighbourhood(found).png()
