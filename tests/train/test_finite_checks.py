"""Numbers that are not finite: they stop a run before they reach the weights or the disk, and the run can go on.

At the loop: tests/train/test_engine.py::test_loss_that_is_not_finite_stops_before_the_update and its twin for
gradients.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from geco.store import read_entry
from geco.train.engine import Trainer
from tests.train.runs import FLAGS, MANY, ONE, assert_same, geco, left_by, refused, use

Capture = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch


def nan_at(monkeypatch: Patch, where: str, step: int) -> None:
    """Put a NaN into the loss, or into one gradient, of a step."""
    true, calls = Trainer._loss, [0]

    def loss(self: Trainer, data: Any, mask: Any) -> torch.Tensor:
        calls[0] += 1
        if calls[0] == step and where == "gradient":
            self.model.head.mlp.lins[0].weight.register_hook(
                lambda grad: grad.index_fill(0, torch.tensor([0]), torch.nan)
            )
        value = true(self, data, mask)
        return value * torch.nan if calls[0] == step and where == "loss" else value

    monkeypatch.setattr(Trainer, "_loss", loss)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("loss", "the loss is nan in epoch 1, batch 1: outputs are finite, a target is not"),
        ("gradient", "the gradient of head.mlp.lins.0.weight is not finite in epoch 1; lower --optim.lr"),
    ],
)
def test_nan_in_loss_or_gradient_stops(
    where: str, message: str, whole: Path, monkeypatch: Patch, capsys: Capture, tmp_path: Path
) -> None:
    """A NaN in the loss or in one gradient stops before the update (exit 5) and says where; the run can go on."""
    use(monkeypatch, MANY)
    seen: list[dict[str, torch.Tensor]] = []
    with monkeypatch.context() as patch:
        nan_at(patch, where, 6)
        true = Trainer.step

        def step(self: Trainer, group: Any) -> float:
            seen[:] = [{name: p.detach().clone() for name, p in self.model.named_parameters()}]
            try:
                return true(self, group)
            except ValueError:
                seen.append({name: p.detach().clone() for name, p in self.model.named_parameters()})
                raise

        patch.setattr(Trainer, "step", step)
        code, line = refused(capsys, "train", "digits", *FLAGS, "--out", tmp_path / "run")
    assert code == 5
    assert message in line
    assert all(torch.equal(value, seen[1][name]) for name, value in seen[0].items())
    assert [path.name for path in (tmp_path / "run" / "seed-0" / "last").iterdir()] == ["000001-000000"]
    assert geco(capsys, "train", "digits", *FLAGS, "--out", tmp_path / "run", "--resume", "auto")[0] == 0
    assert_same(left_by(tmp_path / "run" / "seed-0"), left_by(whole))


def spoil(trainer: Trainer) -> None:
    with torch.no_grad():
        trainer.model.head.mlp.lins[0].bias[0] = torch.nan


@pytest.mark.parametrize("moment", ["before validation", "after validation"])
def test_weights_that_are_not_finite(moment: str, monkeypatch: Patch, capsys: Capture, tmp_path: Path) -> None:
    """They are kept neither as the last nor as the best ones; the run stops with exit 5."""
    use(monkeypatch, ONE)
    true, calls = Trainer._evaluate, [0]

    def evaluate(self: Trainer, *args: Any) -> None:
        calls[0] += 1
        if calls[0] == 3 and moment == "before validation":
            spoil(self)
        true(self, *args)
        if calls[0] == 3:
            spoil(self)

    monkeypatch.setattr(Trainer, "_evaluate", evaluate)
    code, line = refused(capsys, "train", "digits", *FLAGS, "--out", tmp_path / "run")
    assert code == 5
    assert "not finite" in line
    folder = tmp_path / "run" / "seed-0"
    last = sorted((folder / "last").iterdir())
    assert [path.name for path in last] == ["000001-000000", "000002-000000"]
    assert all(bool(v.isfinite().all()) for path in (folder / "best", *last) for v in read_entry(path).arrays.values())
    assert not (folder / "result.json").exists()


def test_rate_that_is_far_too_high(monkeypatch: Patch, capsys: Capture, tmp_path: Path) -> None:
    """Weights that a finite gradient and an absurd learning rate threw out of range are not saved either."""
    use(monkeypatch, ONE)
    flags = ("--optim.lr", "1e30", "--optim.warmup", "0", "--optim.weight-decay", "0")
    code, line = refused(capsys, "train", "digits", *FLAGS, *flags, "--out", tmp_path / "run")
    assert code == 5
    assert "lower --optim.lr" in line
    assert not list((tmp_path / "run").rglob("*.safetensors"))
