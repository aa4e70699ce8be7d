from __future__ import annotations

from pathlib import Path

from geco.studies.claims.mixers import GRID
from tests.studies.claims.grids import check_plans, run_quick


def test_everything_planned_can_be_built() -> None:
    check_plans(GRID)


def test_the_score_stands_beside_seconds_and_memory(tmp_path: Path) -> None:
    units = run_quick("mixers", tmp_path)["units"]
    held = {unit["facts"]["variant"]: unit["result"]["held"] for unit in units.values()}
    assert held["no mixer"] < held["attention"]
    weights = [unit["result"]["parameters"] for unit in units.values()]
    assert max(weights) < 2 * min(weights)
    assert "What it costs on echo" in (tmp_path / "page.html").read_text()
