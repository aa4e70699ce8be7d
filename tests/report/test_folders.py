"""All trainings are found, and what is none is named with the reason."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from geco.report.folders import find, moved
from tests.made_runs import made_run


def test_seeds_runs_and_folders_above_runs(tmp_path: Path) -> None:
    for name, seed in (("x/a", 10), ("x/a", 2), ("x/deep/b", 0)):
        made_run(tmp_path / name / f"seed-{seed}", seed=seed)
    made_run(tmp_path / "x" / "alone")
    whole = find([tmp_path / "x"])
    assert not whole.problems
    found = {str(home.relative_to(tmp_path)): [s.seed for s in seeds] for home, seeds in whole.runs.items()}
    assert found == {"x/a": [2, 10], "x/alone": [0], "x/deep/b": [0]}


def test_numbers_in_names_sort_by_value(tmp_path: Path) -> None:
    for name in ("run-10", "run-2", "other", "2", "run"):
        made_run(tmp_path / name / "seed-0")
    assert [home.name for home in find([tmp_path]).runs] == ["2", "other", "run", "run-2", "run-10"]


def test_one_seed_stands_for_itself_and_nothing_counts_twice(tmp_path: Path) -> None:
    for seed in (0, 1):
        made_run(tmp_path / "a" / f"seed-{seed}", seed=seed)
    assert list(find([tmp_path / "a" / "seed-1"]).runs) == [tmp_path / "a" / "seed-1"]
    both = find([tmp_path / "a", tmp_path / "a" / "seed-1", tmp_path / "a" / "seed-0"])
    assert {home: len(seeds) for home, seeds in both.runs.items()} == {tmp_path / "a": 2}


def test_every_odd_folder_is_named_and_the_others_are_shown(tmp_path: Path) -> None:
    made_run(tmp_path / "good" / "seed-0")
    (tmp_path / "empty").mkdir()
    (tmp_path / "never" / "seed-0").mkdir(parents=True)
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "notes.txt").write_text("mine")
    made_run(tmp_path / "new" / "seed-0", epochs=0, finished=False)
    (made_run(tmp_path / "broken" / "seed-0") / "metrics.jsonl").write_text("x\n")
    (made_run(tmp_path / "bare" / "seed-0") / "config.toml").unlink()
    (tmp_path / "file").write_text("")
    names = ("good", "empty", "never", "foreign", "new", "broken", "bare", "file", "absent")
    found = find([tmp_path / name for name in names])
    assert list(found.runs) == [tmp_path / "good"]
    said = {str(p.folder.relative_to(tmp_path)): (p.why, p.early) for p in found.problems}
    assert said.pop("broken/seed-0")[0].startswith("metrics.jsonl is damaged: line 1")
    assert said == {
        "empty": ("it is empty", False),
        "never/seed-0": ("it is empty: nothing was trained here", False),
        "foreign": ("there is no run of `geco train` in it or below it", False),
        "new/seed-0": ("it has no finished epoch yet", True),
        "bare/seed-0": ("it is no folder of `geco train`: there is no config.toml in it", False),
        "file": ("it is a file; name the folder it is in", False),
        "absent": ("there is no such folder", False),
    }


@pytest.mark.skipif(os.name == "nt" or not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads everything")
def test_a_folder_that_may_not_be_read(tmp_path: Path) -> None:
    made_run(tmp_path / "good")
    (tmp_path / "locked").mkdir(mode=0)
    assert "cannot be read" in find([tmp_path]).problems[0].why


def test_moved_tells_when_a_run_goes_on(tmp_path: Path) -> None:
    folder = made_run(tmp_path / "a" / "seed-0", finished=False)
    before = moved([tmp_path])
    assert moved([tmp_path]) == before
    with (folder / "metrics.jsonl").open("a") as file:
        file.write("{}\n")
    after = moved([tmp_path])
    assert after != before
    made_run(tmp_path / "b" / "seed-0")
    assert moved([tmp_path]) != after
