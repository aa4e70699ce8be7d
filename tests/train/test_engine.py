"""The loop: exact resume, honest scores, nothing lost."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from geco.data.dataset import GraphDataset
from geco.errors import CheckpointError, Interrupted, NumericalError, UsageError
from geco.names import BASELINES
from geco.nn.functional import compact
from geco.nn.model import GECO
from geco.store import read_entry
from geco.train.config import ModelConfig, OptimConfig, TrainConfig
from geco.train.engine import Trainer
from tests.train.runs import MANY, ONE, SMALL, assert_same, damage, left_by


@pytest.fixture(scope="module")
def one() -> GraphDataset:
    return ONE


@pytest.fixture(scope="module")
def many() -> GraphDataset:
    return MANY


@pytest.mark.parametrize("data", ["one", "many"])
def test_same_command_same_result(data: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    dataset = request.getfixturevalue(data)
    for name in ("a", "b"):
        torch.manual_seed(len(name) + hash(name) % 1000)  # the state of torch's generator must not matter
        Trainer(SMALL, dataset, tmp_path / name).fit()
    assert_same(left_by(tmp_path / "a"), left_by(tmp_path / "b"))


PLATEAU = replace(SMALL, optim=replace(SMALL.optim, schedule="plateau", plateau_patience=1, average=0.8))


@pytest.fixture(scope="module")
def whole(many: GraphDataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    Trainer(PLATEAU, many, folder).fit()
    return folder


@pytest.mark.parametrize("when", [1, 2, 4, 5, 8, 11, 15])
def test_stopped_after_any_step_goes_on_bit_by_bit(when: int, many: GraphDataset, whole: Path, tmp_path: Path) -> None:
    left = [when]

    def stop() -> bool:
        left[0] -= 1
        return left[0] == 0

    with pytest.raises(Interrupted, match="go on with --resume auto"):
        Trainer(PLATEAU, many, tmp_path, stop=stop).fit()
    Trainer(PLATEAU, many, tmp_path, resume=True).fit()
    assert_same(left_by(whole), left_by(tmp_path))


@pytest.mark.parametrize("how", ["truncated", "flipped", "manifest"])
def test_damaged_newest_checkpoint(
    how: str, one: GraphDataset, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    Trainer(SMALL, one, tmp_path / "whole").fit()
    calls = iter([False, False, True])
    with pytest.raises(Interrupted):
        Trainer(SMALL, one, tmp_path / "cut", stop=lambda: next(calls)).fit()
    damage(sorted((tmp_path / "cut" / "last").glob("[0-9]*"))[-1], how)
    Trainer(SMALL, one, tmp_path / "cut", resume=True).fit()
    assert "going back to the one before it" in caplog.text
    assert_same(left_by(tmp_path / "whole"), left_by(tmp_path / "cut"))


def test_all_checkpoints_damaged(one: GraphDataset, tmp_path: Path) -> None:
    Trainer(SMALL, one, tmp_path).fit()
    for path in (tmp_path / "last").glob("[0-9]*"):
        damage(path, "truncated")
    with pytest.raises(CheckpointError, match=r"all checkpoints in .* are damaged"):
        Trainer(SMALL, one, tmp_path, resume=True)


def test_folder_of_another_run(one: GraphDataset, tmp_path: Path) -> None:
    Trainer(SMALL, one, tmp_path).fit()
    with pytest.raises(UsageError, match="holds a run already; go on with --resume auto"):
        Trainer(SMALL, one, tmp_path)
    other = replace(SMALL, model=replace(SMALL.model, hidden=16))
    with pytest.raises(CheckpointError, match=r"another configuration \(model.hidden: 8 there, 16 now\)"):
        Trainer(other, one, tmp_path, resume=True)


def test_two_processes_in_one_folder(one: GraphDataset, tmp_path: Path) -> None:
    first = Trainer(SMALL, one, tmp_path)
    with pytest.raises(UsageError, match="another process is training"):
        Trainer(SMALL, one, tmp_path, resume=True)
    first.fit()


def test_finished_run_is_not_trained_again(one: GraphDataset, tmp_path: Path) -> None:
    first = Trainer(SMALL, one, tmp_path).fit()
    again = Trainer(SMALL, one, tmp_path, resume=True, stop=lambda: pytest.fail("it took a step")).fit()
    assert again == first


def test_result_is_the_test_score_at_the_best_validation_epoch(one: GraphDataset, tmp_path: Path) -> None:
    result = Trainer(replace(SMALL, train=TrainConfig(epochs=8)), one, tmp_path).fit()
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    best = max(lines, key=lambda line: (line["valid"], -line["epoch"]))
    assert (result["epoch"], result["valid"], result["test"]) == (best["epoch"], best["valid"], best["test"])
    assert read_entry(tmp_path / "best").about["epoch"] == best["epoch"]


def test_without_the_test_part_nothing_depends_on_it(one: GraphDataset) -> None:
    lines: list[dict[str, Any]] = []
    trainer = Trainer(SMALL, one, tell=lines.append, parts=("valid",))
    result = trainer.fit()
    whole = Trainer(SMALL, one).fit()
    assert result["valid"] == whole["valid"]
    assert "test" in whole
    assert "test" not in repr([result, lines, trainer.state.history, trainer.kept.about["report"]])


def test_early_stopping(one: GraphDataset) -> None:
    config = replace(SMALL, optim=OptimConfig(lr=1e-12, warmup=0), train=TrainConfig(epochs=50, patience=3))
    config = replace(config, model=replace(config.model, permutation="static", dropout=0.0))
    assert Trainer(config, one).fit()["epochs"] < 50


def test_accumulated_gradients_are_averaged(many: GraphDataset) -> None:
    model = replace(SMALL.model, name="mlp", dropout=0.0)
    config = replace(SMALL, model=model, optim=OptimConfig(lr=0.01, warmup=0, clip=0, accumulate=4))
    trainer = Trainer(config, many)
    batches = [(i, data, mask) for i, (data, mask) in enumerate(trainer.batches.train(0))][:4]
    trainer.model.train()
    wanted: dict[str, torch.Tensor] = {}
    for _, data, mask in batches:
        trainer.model.zero_grad()
        trainer._loss(data, mask).backward()
        for name, p in trainer.model.named_parameters():
            wanted[name] = wanted.get(name, 0) + p.grad / 4
    trainer.step(batches)
    for name, p in trainer.model.named_parameters():
        assert torch.allclose(p.grad, wanted[name], atol=1e-6), name


def test_running_mean_is_what_is_evaluated_and_kept(many: GraphDataset, tmp_path: Path) -> None:
    """By hand: d = min(0.7, (1 + n) / (10 + n)) at the n-th step, of weights and of what norms have seen."""
    trainer = Trainer(
        replace(SMALL, optim=replace(SMALL.optim, average=0.7), train=TrainConfig(epochs=1, statistics=0)),
        many,
        tmp_path,
    )
    mean: dict[str, torch.Tensor] = {}
    taken, whole = 0, trainer.optimizer.step

    def step() -> None:
        nonlocal taken, mean
        whole()
        now = {name: value.clone() for name, value in trainer.model.state_dict().items()}
        d = min(0.7, (1 + taken) / (10 + taken)) if taken else 0.0
        mean = {k: v if d == 0 or not v.is_floating_point() else d * mean[k] + (1 - d) * v for k, v in now.items()}
        taken += 1

    trainer.optimizer.step = step  # type: ignore[method-assign, assignment]
    trainer.fit()
    kept = read_entry(tmp_path / "best").arrays
    assert taken > 2
    assert kept.keys() == mean.keys()
    for name, value in mean.items():
        torch.testing.assert_close(kept[name], value)
    assert any(not torch.equal(kept[name], value) for name, value in trainer.model.state_dict().items())


def test_loss_that_is_not_finite_stops_before_the_update(one: GraphDataset) -> None:
    trainer = Trainer(SMALL, one)
    with torch.no_grad():
        trainer.model.head.mlp.lins[0].weight[0, 0] = math.inf
    before = {name: value.detach().clone() for name, value in trainer.model.named_parameters()}
    with pytest.raises(
        NumericalError, match=r"the loss is (nan|inf) in epoch 0, batch 0: the output of head.mlp.lins.0 is not finite"
    ):
        trainer.fit()
    assert all(torch.equal(value, before[name]) for name, value in trainer.model.named_parameters())


def test_gradient_that_is_not_finite_stops_before_the_update(one: GraphDataset) -> None:
    trainer = Trainer(SMALL, one)
    trainer.model.head.mlp.lins[0].bias.register_hook(lambda grad: grad * math.nan)
    with pytest.raises(
        NumericalError, match=r"the gradient of head.mlp.lins.0.bias is not finite in epoch 0; lower --optim.lr"
    ):
        trainer.fit()


@pytest.mark.parametrize("name", ["geco", *BASELINES])
def test_every_network_trains(name: str, one: GraphDataset, many: GraphDataset) -> None:
    for dataset in (one, many):
        config = replace(SMALL, model=ModelConfig(name=name, hidden=8, heads=2), train=TrainConfig(epochs=3))
        assert 0 <= Trainer(config, dataset).fit()["test"] <= 1


@pytest.mark.parametrize("drop", [0.0, 0.5])
def test_bags_of_words_are_trained_on_as_sparse_features(drop: float, one: GraphDataset) -> None:
    torch.manual_seed(0)
    words = (torch.rand(one.num_nodes, 2000) < 0.01).float()
    data = one.attach("node/x", words)
    trainer = Trainer(replace(SMALL, model=replace(SMALL.model, input_dropout=drop)), data)
    assert trainer.batches.data.x.layout == torch.sparse_csr  # type: ignore[attr-defined]
    assert 0 <= trainer.fit()["test"] <= 1


def test_sparse_features_with_a_nan_are_refused_by_their_node() -> None:
    x = torch.eye(1100)
    x[7, 7] = math.nan
    with pytest.raises(ValueError, match="NaN or infinite values at 1 nodes, the first at node 7"):
        GECO(1100, 4, 1)(compact(x), torch.tensor([[0], [1]]))
