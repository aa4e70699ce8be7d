"""BatchNorm's statistics belong to the weights that are evaluated and kept."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from geco.data.dataset import GraphDataset
from geco.train.batch_norm import norms, renew
from geco.train.batches import serve
from geco.train.build import build, seed_of
from geco.train.config import Config, DataConfig, ModelConfig
from geco.train.engine import Trainer
from geco.train.tasks import score
from geco.train.trained_run import load_run
from tests.train.runs import MANY, ONE, SMALL

BODIES = ("geco", "hybrid", "gcn", "gatedgcn", "gin", "gps", "polynormer", "sgformer")


def kept(network: nn.Module) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in network.named_buffers() if name.split(".")[-1].startswith("running")}


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("dataset", [ONE, MANY], ids=["one", "many"])
def test_nothing_of_before_is_left(body: str, dataset: GraphDataset) -> None:
    """Every BatchNorm of encoder, body and head forgets what it held, wherever the network has one."""
    model = ModelConfig(name=body, hidden=8, layers=1, heads=2, dropout=0.3, diffusion=2, head_layers=2, head_norm=True)
    config = Config(DataConfig("t"), model)
    network = build(config, dataset)
    assert len(norms(network)) >= 2
    data = list(serve(dataset, config, torch.device("cpu")).sample(0, 3))
    found = []
    for start in (0.0, 7.0):
        for norm in norms(network):
            norm.running_mean.fill_(start)
            norm.running_var.fill_(start + 1)
        renew(network.eval(), enumerate(data))
        assert not any(module.training for module in network.modules())
        assert all(norm.momentum == 0.1 for norm in norms(network))
        found.append(kept(network))
    assert all(torch.equal(found[0][name], found[1][name]) for name in found[0])
    assert any(bool(value.ne(0).any()) for name, value in found[0].items() if name.endswith("mean"))


@pytest.mark.parametrize("body", ["geco", "gcn"])
def test_one_pass_without_dropout_evaluates_as_it_trains(body: str) -> None:
    config = Config(DataConfig("t"), ModelConfig(name=body, hidden=8, dropout=0.0))  # type: ignore[arg-type]
    network, data = build(config, ONE), next(serve(ONE, config, torch.device("cpu")).sample(0, 1))
    with torch.no_grad():
        wanted = copy.deepcopy(network).train()(data)
        renew(network, [(0, data)])
        for norm in norms(network):
            norm.running_var.mul_(1 - 1 / data.num_nodes)  # training divides by the biased variance
        found = network.eval()(data)
    assert torch.allclose(found, wanted, atol=1e-4)


def test_means_over_passes_are_of_equal_weight() -> None:
    norm, rows = nn.BatchNorm1d(3), [torch.randn(size, 3) for size in (5, 9, 2, 30)]
    renew(norm, enumerate(rows))
    assert torch.allclose(norm.running_mean, torch.stack([r.mean(0) for r in rows]).mean(0), atol=1e-6)
    assert torch.allclose(norm.running_var, torch.stack([r.var(0) for r in rows]).mean(0), atol=1e-6)


def test_networks_without_batchnorm_draw_no_batch() -> None:
    def fails() -> Iterator[tuple[int, Tensor]]:
        yield pytest.fail("a batch was drawn")

    renew(nn.Sequential(nn.Linear(2, 2), nn.LayerNorm(2), nn.BatchNorm1d(2, track_running_stats=False)), fails())


def test_a_pass_that_fails_leaves_modes_and_momentum() -> None:
    network = nn.Sequential(nn.BatchNorm1d(2), nn.BatchNorm1d(2, momentum=0.3)).eval()
    network[1].train()
    with pytest.raises(ValueError, match="expected"):
        renew(network, [(0, torch.randn(2, 2, 2, 2))])
    assert [module.training for module in network.modules()] == [False, False, True]
    assert [norm.momentum for norm in norms(network)] == [0.1, 0.3]


@pytest.mark.parametrize("dataset", [ONE, MANY], ids=["one", "many"])
def test_training_does_not_depend_on_them(dataset: GraphDataset) -> None:
    runs = [Trainer(replace(SMALL, train=replace(SMALL.train, statistics=count)), dataset) for count in (0, 2)]
    for run in runs:
        run.fit()
    losses = [[line["loss"] for line in run.state.history] for run in runs]
    assert losses[0] == losses[1]
    assert all(torch.equal(a, b) for a, b in zip(runs[0].model.parameters(), runs[1].model.parameters(), strict=True))
    assert any(not torch.equal(a, b) for a, b in zip(*(kept(run.model).values() for run in runs), strict=True))


@pytest.mark.parametrize("average", [0.0, 0.8])
@pytest.mark.parametrize("dataset", [ONE, MANY], ids=["one", "many"])
def test_the_best_network_holds_those_of_its_weights(dataset: GraphDataset, average: float, tmp_path: Path) -> None:
    config = replace(SMALL, optim=replace(SMALL.optim, average=average), train=replace(SMALL.train, statistics=2))
    result = Trainer(config, dataset, tmp_path).fit()
    run, batches = load_run(tmp_path), serve(dataset, config, torch.device("cpu"))
    outputs = batches.outputs(run.network, ("valid", "test"))
    assert {part: score(outputs[part], run.info) for part in outputs} == {part: result[part] for part in outputs}
    stored, epoch = kept(run.network), result["epoch"]
    run.network.set_epoch(epoch - 1, config.train.epochs)
    passes = enumerate(batches.sample(epoch, 2))
    renew(run.network, [(seed_of(config.seed, epoch, number, 1), data) for number, data in passes])
    assert all(torch.equal(stored[name], value) for name, value in kept(run.network).items())


@pytest.mark.parametrize("workers", [0, 1])
def test_batches_are_bounded_and_disturb_no_epoch(workers: int) -> None:
    config = replace(SMALL, data=replace(SMALL.data, workers=workers))
    batches = serve(MANY, config, torch.device("cpu"))
    wanted = [data.x for data, _ in batches.train(1)]
    found = []
    for data, _ in batches.train(1):
        found.append(data.x)
        assert [len(list(batches.sample(1, count))) for count in (0, 1, 1000)] == [0, 1, batches.steps]
        assert torch.equal(next(batches.sample(1, 1)).x, wanted[0])
    assert all(torch.equal(a, b) for a, b in zip(found, wanted, strict=True))
