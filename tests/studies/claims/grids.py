"""What the tests of studies of variants share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from geco.cli.main import main
from geco.data.registry import DATASETS, find
from geco.studies.claims.grid import Grid, grid_study
from geco.studies.claims.study import Scale, Training
from geco.studies.parameters import blank
from geco.train.build import build
from geco.train.config import from_table

SCALES: tuple[Scale, ...] = ("quick", "default", "full")


def run_quick(name: str, folder: Path, scores: bool = True) -> dict[str, Any]:
    """Run the quick study from the command line and return its record, whose units all have ``scores`` or not."""
    main(["study", name, "--quick", "--out", str(folder)])
    assert (folder / "page.html").read_text().count("<table") >= 2
    record: dict[str, Any] = json.loads((folder / "record.json").read_text())
    assert not scores or all(0 <= unit["result"]["test"] <= 1 for unit in record["units"].values())
    return record


def check_plans(grid: Grid) -> None:
    """Check that every training of every scale has sound settings, and that those of the default can be built."""
    for scale in SCALES:
        plan = grid_study(grid).plan(scale, [0, 1])
        assert {unit.facts["data"] for unit in plan.units} == set(grid.data[scale])
        assert all(bench.paper.keys() <= grid.variants.keys() for bench in grid.data[scale].values())
        for unit in plan.units:
            assert isinstance(unit.work, Training)
            name = unit.work.config.data.name
            if (scale, unit.facts["seed"]) == ("default", 0) and name in DATASETS:
                small = from_table({"model": {"hidden": 48}}, unit.work.config, "test")
                dataset = blank(find(name), small.data.encodings)
                assert sum(p.numel() for p in build(small, dataset).parameters()) > 0
