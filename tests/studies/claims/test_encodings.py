from __future__ import annotations

from pathlib import Path

from geco.studies.claims.encodings import GRID
from tests.studies.claims.grids import check_plans, run_quick


def test_quick_runs(tmp_path: Path) -> None:
    record = run_quick("encodings", tmp_path)
    assert {unit["facts"]["seed"] for unit in record["units"].values()} == {0, 1}


def test_everything_planned_can_be_built() -> None:
    check_plans(GRID)
