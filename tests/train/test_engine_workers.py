"""Many graphs over several processes are trained as by one, whatever their number."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from geco.data.dataset import GraphDataset
from geco.distributed.runtime import ALONE, Workers
from geco.errors import Interrupted, NumericalError, ResourceError, UsageError
from geco.store import read_entry
from geco.train.build import encoded
from geco.train.config import Config, DataConfig, ModelConfig, OptimConfig, TrainConfig
from geco.train.engine import Trainer
from tests.distributed.processes import GONE, molecules, together
from tests.train.runs import ONE

pytestmark = pytest.mark.dist

# 24 graphs are trained on, in batches of 11, 11 and 2 or of 5, 5, 5, 5 and 4: no number of processes divides them all,
# and one of three has none of 2 graphs. All networks have BatchNorm.
GECO = Config(
    DataConfig("molecules", batch_size=11),
    ModelConfig(hidden=8, layers=2, dropout=0.0, permutation="dynamic", eval_orders=2),
    OptimConfig(lr=0.01, warmup=1),
    TrainConfig(epochs=3, threads=1),
)
HYBRID = replace(
    GECO,
    data=DataConfig("molecules", batch_size=11, encodings=("rwse:4",)),
    model=replace(
        GECO.model,
        name="hybrid",
        local="gatedgcn",
        mixer="geco",
        permutation="structure",
        head_norm=True,
        encoding_width=3,
    ),
    optim=OptimConfig(lr=0.01, warmup=1, accumulate=2, average=0.9, schedule="plateau"),
)
GIN = replace(
    GECO,
    data=DataConfig("molecules", batch_size=5),
    model=replace(GECO.model, name="gin", permutation="auto"),
    train=replace(GECO.train, class_weights=True, statistics=0),
)
# Settings, targets, and how close weights and scores must be in float64. A bias right before BatchNorm, which hybrid
# and GIN have, changes nothing: its gradient is rounding, which Adam makes larger, and which stored statistics follow.
CASES = {
    "geco": (GECO, "values", 1e-12, 1e-12),
    "hybrid": (HYBRID, "labels", 1e-9, 1e-12),
    "gin": (GIN, "class", 1e-9, 1e-9),
}


@pytest.fixture
def _double(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let everything be computed in float64."""
    monkeypatch.setattr(torch.Tensor, "float", torch.Tensor.double)
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def data_of(case: str, dtype: torch.dtype = torch.float64) -> tuple[Config, GraphDataset]:
    """Return settings and data of a case, with its encodings."""
    config, target, *_ = CASES[case]
    dataset = encoded(molecules(target, dtype=dtype), config)  # type: ignore[arg-type]
    arrays = {name: a.to(dtype) if a.is_floating_point() else a for name, a in dataset.arrays.items()}
    return config, replace(dataset, arrays=arrays)


def train(config: Config, dataset: GraphDataset, out: Path, workers: Workers = ALONE, **options: Any) -> None:
    """Train, into a folder."""
    Trainer(config, dataset, out, workers=workers, **options).fit()


def left(out: Path) -> tuple[dict[str, Tensor], list[dict[str, Any]]]:
    """Return the last weights with the optimiser's, and the metrics."""
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    return read_entry(sorted((out / "last").glob("[0-9]*"))[-1]).arrays, lines


def assert_equal(a: Path, b: Path, tolerance: float, of_lines: float) -> None:
    """Compare weights, optimiser, statistics, losses and scores of two runs."""
    (found, lines), (wanted, others) = left(a), left(b)
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        torch.testing.assert_close(
            found[name], value, rtol=tolerance, atol=tolerance, msg=lambda m, n=name: f"{n}: {m}"
        )
    assert len(lines) == len(others) > 0
    torch.testing.assert_close(lines, others, rtol=of_lines, atol=of_lines, equal_nan=True)


def succeed(found: list[tuple[int, str]]) -> None:
    assert [code for code, _ in found] == [0] * len(found), "\n".join(text for _, text in found)


@pytest.mark.usefixtures("_double")
@pytest.mark.parametrize("case", CASES)
def test_as_one_process(case: str, tmp_path: Path) -> None:
    config, dataset = data_of(case)
    train(config, dataset, tmp_path / "1")
    for size in (2, 3):
        succeed(together(size, lambda workers: train(config, dataset, tmp_path / str(workers.size), workers)))
        assert_equal(tmp_path / str(size), tmp_path / "1", *CASES[case][2:])


@pytest.mark.usefixtures("_double")
def test_saved_by_two_and_resumed_by_others(tmp_path: Path) -> None:
    """Stopped in the middle of an epoch by a wish of one process alone."""
    config, dataset = data_of("geco")
    train(config, dataset, tmp_path / "whole")

    def stop(workers: Workers) -> None:
        asked = iter(range(100))
        train(config, dataset, tmp_path / "2", workers, stop=lambda: next(asked) == 5 and workers.rank == 1)

    found = together(2, stop)
    assert [code for code, _ in found] == [Interrupted.exit_code] * 2
    assert "batch 2 of epoch 1, saved in" in found[0][1]
    for size in (1, 3):
        shutil.copytree(tmp_path / "2", tmp_path / str(size))
    train(config, dataset, tmp_path / "1", resume=True)
    for size in (2, 3):
        work = lambda workers: train(config, dataset, tmp_path / str(workers.size), workers, resume=True)  # noqa: E731
        succeed(together(size, work))
    for size in (1, 2, 3):
        assert_equal(tmp_path / str(size), tmp_path / "whole", 1e-12, 1e-12)


def test_in_single_precision(tmp_path: Path) -> None:
    config, dataset = data_of("geco", torch.float32)
    train(config, dataset, tmp_path / "1")
    succeed(together(2, lambda workers: train(config, dataset, tmp_path / "2", workers)))
    assert_equal(tmp_path / "2", tmp_path / "1", 1e-5, 1e-4)


def test_different_settings_and_data_are_refused(tmp_path: Path) -> None:
    config, dataset = data_of("geco", torch.float32)

    def work(workers: Workers) -> None:
        own = replace(config, optim=replace(config.optim, lr=0.02)) if workers.rank == 2 else config
        train(own, dataset, tmp_path / "run", workers)

    for code, text in together(3, work):
        assert code == UsageError.exit_code
        assert "rank 2 is not about to do what rank 0 does (settings.optim.lr: 0.01 in rank 0, 0.02 in rank 2)" in text
    found = together(2, lambda w: train(config, molecules(graphs=30 + w.rank), tmp_path / "run", w))
    assert all("rank 1 is not about to do what rank 0 does (data: " in text for _, text in found)
    assert not (tmp_path / "run").exists()


def test_a_graph_over_processes_is_refused(tmp_path: Path) -> None:
    found = together(2, lambda workers: train(GECO, ONE, tmp_path / "run", workers))
    assert [code for code, _ in found] == [UsageError.exit_code] * 2
    assert "is one graph, and 2 processes can only share out many; leave out --nproc" in found[0][1]
    assert not (tmp_path / "run").exists()


def test_loss_that_is_not_finite_ends_all(tmp_path: Path) -> None:
    """On one process: it says so, and the others do not wait for it."""
    config, dataset = data_of("geco", torch.float32)

    def work(workers: Workers) -> None:
        trainer = Trainer(config, dataset, tmp_path / "run", workers=workers)
        if workers.rank == 1:
            for p in trainer.model.head.parameters():
                p.data.fill_(torch.inf)
        trainer.fit()

    (code, text), (other, said) = together(2, work)
    assert (code, other) == (ResourceError.exit_code, NumericalError.exit_code)
    assert "the loss is" in said
    assert re.search(GONE, text)
