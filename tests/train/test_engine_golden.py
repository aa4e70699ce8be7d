"""The first losses of two small runs, kept in golden.json: they change if the operator, the initialisation, the seeds
of dropout, the order of batches or the optimiser do.

Make the file again after a change that is meant: `OMP_NUM_THREADS=1 python -m tests.train.test_engine_golden`.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from geco.data.embedded.synthetic import ring_copy
from geco.train.config import Config, DataConfig, ModelConfig, OptimConfig, TrainConfig
from geco.train.engine import Trainer

FILE = Path(__file__).parent / "golden.json"
STEPS = 20
MODELS = ("geco", "gcn")


def losses(model: str, **changes: float) -> list[float]:
    """Return the loss of each of the first steps, in float32 with one thread."""
    config = Config(
        DataConfig("ring-copy", batch_size=8, group_by_size=True),
        ModelConfig(name=model, hidden=16, dropout=0.2, permutation="dynamic", eval_orders=1),  # type: ignore[arg-type]
        OptimConfig(lr=0.01, warmup=1, **changes),  # type: ignore[arg-type]
        TrainConfig(epochs=4, threads=1),
        seed=3,
    )
    found: list[float] = []

    class Recorder(Trainer):
        def step(self, group: list) -> float:  # type: ignore[type-arg]
            found.append(super().step(group))
            return found[-1]

    Recorder(config, ring_copy(5, graphs=60)).fit()
    return found[:STEPS]


@pytest.mark.parametrize("model", MODELS)
def test_losses_are_those_kept(model: str) -> None:
    wanted = json.loads(FILE.read_text())[model]
    assert len(wanted) == STEPS
    assert len(set(wanted)) == STEPS
    assert losses(model) == pytest.approx(wanted, rel=1e-4)


def test_small_changes_show() -> None:
    """A change of the optimiser by one part in a hundred is more than the tolerance."""
    wanted = json.loads(FILE.read_text())["geco"]
    assert losses("geco", filter_lr=1.01) != pytest.approx(wanted, rel=1e-4)
    assert losses("geco", weight_decay=0.01) != pytest.approx(wanted, rel=1e-4)


if __name__ == "__main__":
    FILE.write_text(json.dumps({model: losses(model) for model in MODELS}, indent=1) + "\n")
