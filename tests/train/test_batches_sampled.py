"""Training on sampled batches of one graph by the engine: exact resume, whole evaluation, learning, refusals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from geco.data.embedded.digits import digits
from geco.errors import Interrupted, UsageError
from geco.train.batches import SampledGraph
from geco.train.config import Config, DataConfig
from geco.train.engine import Trainer
from tests.train.runs import MANY, ONE, SMALL, assert_same, left_by

CLUSTERS = replace(SMALL, data=DataConfig("test", batch_size=8, sample="clusters"))
HOPS = replace(SMALL, data=DataConfig("test", batch_size=8, sample="hops", fanout=(3, 2)))
WALKS = replace(SMALL, data=DataConfig("test", batch_size=8, sample="walks", walk=2))
EACH = pytest.mark.parametrize("config", [CLUSTERS, HOPS, WALKS], ids=["clusters", "hops", "walks"])


@EACH
@pytest.mark.parametrize("when", [1, 3, 5, 7, 12])
def test_stopped_after_any_step_goes_on_bit_by_bit(config: Config, when: int, tmp_path: Path) -> None:
    Trainer(config, ONE, tmp_path / "whole").fit()
    left = [when]

    def stop() -> bool:
        left[0] -= 1
        return left[0] == 0

    with pytest.raises(Interrupted):
        Trainer(config, ONE, tmp_path / "cut", stop=stop).fit()
    Trainer(config, ONE, tmp_path / "cut", resume=True).fit()
    assert_same(left_by(tmp_path / "whole"), left_by(tmp_path / "cut"))


@EACH
def test_an_epoch_has_a_step_for_every_batch_of_training_nodes(config: Config) -> None:
    trainer = Trainer(config, ONE)
    train = ONE.split().train
    assert trainer.batches.steps == -(-len(train) // 8)
    seen = torch.cat([data.node_id[mask] for data, mask in trainer.batches.train(0)])
    assert torch.equal(seen.sort().values, train.sort().values)
    assert 8 <= trainer.batches.nodes < ONE.num_nodes


@EACH
def test_evaluation_and_statistics_see_the_whole_graph(config: Config) -> None:
    sampled = Trainer(config, ONE)
    whole = Trainer(replace(config, data=DataConfig("test", batch_size=8)), ONE)
    whole.model.load_state_dict(sampled.model.state_dict())
    assert [data.num_nodes for data in sampled.batches.sample(0, 16)] == [ONE.num_nodes]
    for part, (outputs, targets) in whole.judged(("valid", "test")).items():
        assert torch.equal(sampled.judged((part,))[part][0], outputs)
        assert len(targets) == len(getattr(ONE.split(), part))


@EACH
def test_data_of_nodes_and_edges_goes_along(config: Config) -> None:
    dataset = ONE.attach("edge/edge_weight", torch.rand(ONE.num_edges)).attach("node/age", torch.rand(60, 2))
    batches = Trainer(config, dataset).batches
    assert isinstance(batches, SampledGraph)
    whole = batches.data
    for data, _ in batches.train(0):
        source, target = data.node_id[data.edge_index]
        for s, t, weight in zip(source.tolist(), target.tolist(), data.edge_weight.tolist(), strict=True):
            at = (whole.edge_index[0] == s) & (whole.edge_index[1] == t)
            assert whole.edge_weight[at].tolist() == [weight]
        assert torch.equal(data.age, dataset.arrays["node/age"][data.node_id])
        assert torch.equal(data.y, whole.y[data.node_id])


def test_features_that_are_mostly_zero_are_sampled_too() -> None:
    dataset = replace(ONE, arrays={**ONE.arrays, "node/x": torch.eye(2000)[:60]})
    trainer = Trainer(HOPS, dataset)
    assert trainer.batches.data.x.layout == torch.sparse_csr  # type: ignore[attr-defined]
    data, _ = next(iter(trainer.batches.train(0)))
    assert torch.equal(data.x, torch.eye(2000)[data.node_id])


@pytest.mark.parametrize("permutation", ["natural", "static", "dynamic", "structure"])
@pytest.mark.parametrize("sample", ["clusters", "hops", "walks"])
def test_it_trains_in_every_node_order(sample: Any, permutation: Any) -> None:
    config = replace(SMALL, data=DataConfig("test", batch_size=12, sample=sample))
    config = replace(
        config, model=replace(config.model, permutation=permutation), train=replace(config.train, epochs=1)
    )
    assert Trainer(config, ONE).fit()["epochs"] == 1


@pytest.mark.parametrize("sample", ["clusters", "hops", "walks"])
def test_it_learns(sample: Any) -> None:
    config = replace(Config(), data=DataConfig("digits", batch_size=128, sample=sample, fanout=(5, 5)))
    config = replace(config, train=replace(config.train, epochs=6, threads=1))
    assert Trainer(config, digits()).fit()["test"] > 0.95


def test_what_cannot_be_sampled_is_refused() -> None:
    with pytest.raises(UsageError, match=r"--data.sample clusters is for nodes of one graph"):
        Trainer(CLUSTERS, MANY)
    with pytest.raises(UsageError, match="two training nodes"):
        Trainer(replace(CLUSTERS, data=replace(CLUSTERS.data, batch_size=1)), ONE)
    for fanout in ((), (3, 0)):
        with pytest.raises(UsageError, match=r"--data.fanout"):
            DataConfig("test", fanout=fanout)
