"""Several processes at a time: their results, failures, and how they are stopped."""

from __future__ import annotations

from pathlib import Path

import pytest

from geco.cli.jobs import in_parallel
from geco.cli.main import main
from geco.cli.settings import TrainOptions
from geco.errors import DataError, Interrupted, ResourceError
from geco.train.config import TrainConfig
from tests.cli.jobs_work import fail, wait, work


def options(*seeds: int, jobs: int = 2) -> TrainOptions:
    return TrainOptions(seeds=seeds, jobs=jobs, train=TrainConfig(epochs=3))


def test_results_of_all_seeds_in_their_order(tmp_path: Path) -> None:
    found = in_parallel(options(5, 3, 4), tmp_path, work, lambda: False)
    assert list(found) == [5, 3, 4]
    assert [result["seed"] for result in found.values()] == [5, 3, 4]
    assert len({result["process"] for result in found.values()}) == 3
    assert found[4]["folder"] == str(tmp_path / "seed-4")


@pytest.mark.parametrize(
    ("seed", "kind", "message"), [(1, DataError, "seed 1 has no data"), (2, ResourceError, "seed 2 ended with -9")]
)
def test_one_that_fails_stops_the_others(seed: int, kind: type[Exception], message: str, tmp_path: Path) -> None:
    others = options(0, seed, 7)
    with pytest.raises(kind, match=message):
        in_parallel(others, tmp_path, fail, lambda: False)
    assert not (tmp_path / "seed-7").exists(), "not begun"


def test_asked_to_stop_all_save_and_end(tmp_path: Path) -> None:
    with pytest.raises(Interrupted, match=r"stopped; what was trained is saved in .*, go on with --resume auto"):
        in_parallel(options(0, 1, 2), tmp_path, wait, lambda: len(list(tmp_path.glob("seed-*"))) == 2)
    assert sorted(path.parent.name for path in tmp_path.rglob("saved")) == ["seed-0", "seed-1"]


def test_no_jobs_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["train", "digits", "--jobs", "0"])
    assert end.value.code == 2
    assert "--jobs must be at least 1, got 0" in capsys.readouterr().err
