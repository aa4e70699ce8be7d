from __future__ import annotations

from pathlib import Path

from geco.studies.claims.local_block import GRID
from tests.studies.claims.grids import check_plans, run_quick


def test_quick_runs(tmp_path: Path) -> None:
    record = run_quick("local-block", tmp_path)
    assert {unit["facts"]["seed"] for unit in record["units"].values()} == {0, 1}
    page = (tmp_path / "page.html").read_text()
    weights = [unit["result"]["parameters"] for unit in record["units"].values()]
    assert f"The smallest network has {min(weights):,} weights" in page
    assert f"the largest {max(weights):,} (" in page
    assert "same number of weights" not in page


def test_everything_planned_can_be_built() -> None:
    check_plans(GRID)


def test_what_is_replaced_is_the_local_block_alone() -> None:
    plain = GRID.variants["LCB"]
    for name in ("Conv-1", "Conv-10", "Conv-20", "Conv-40", "GCN in its place", "no local block"):
        more = {key: value for key, value in GRID.variants[name].items() if plain.get(key) != value}
        assert {*more} <= {"model.block", "model.block_width"}
    assert GRID.variants["Conv-40"]["model.block_width"] == 40
