"""Links of one graph are trained and judged without a glimpse of what is asked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from geco.data import load
from geco.data.dataset import GraphDataset
from geco.data.embedded.synthetic import erdos_renyi
from geco.data.links import link_dataset
from geco.names import BASELINES
from geco.nn.network.link_heads import DotHead, LinkHead, PairHead
from geco.train.batches import OneGraphLinks, serve
from geco.train.config import Config, DataConfig, ModelConfig, OptimConfig, TrainConfig
from geco.train.engine import Trainer
from geco.train.links import RIVALS, LinkTask, pair_scores
from geco.train.tasks import score, scores

CONFIG = Config(
    DataConfig("t"),
    ModelConfig("gcn", hidden=16, dropout=0.0),
    OptimConfig(lr=0.02, warmup=0),
    TrainConfig(epochs=30, eval_every=10, threads=1),
)


def noise(directed: bool = False) -> GraphDataset:
    """Return a random graph with random features: nothing tells links from other pairs."""
    data = erdos_renyi(300, degree=8, seed=3)[0]
    data.x = torch.randn(300, 32, generator=torch.Generator().manual_seed(0))
    return link_dataset(data, fractions=(0.5, 0.1, 0.4), directed=directed)


def groups() -> GraphDataset:
    """Return a graph whose nodes are linked to those of their own group, which their features tell roughly."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 4, 120)
    ends = rng.integers(0, 120, (2, 4000))
    ends = ends[:, (group[ends[0]] == group[ends[1]]) | (rng.random(4000) < 0.05)]
    x = np.eye(4)[group] + rng.standard_normal((120, 4))
    return link_dataset(Data(x=torch.from_numpy(x).float(), edge_index=torch.from_numpy(ends)), metric="mrr")


def test_chance_is_chance_and_a_leak_would_show() -> None:
    """A network that has learned the edges it sees knows nothing of those it does not; if it saw them, it would."""
    honest = noise()
    trainer = Trainer(CONFIG, honest)
    test = trainer.fit()["test"]
    assert test == pytest.approx(0.5, abs=0.06)
    rows = honest.split().test
    label, ends = (honest.arrays[f"link/{name}"].long() for name in ("edge_label", "edge_label_index"))
    hidden = ends[:, rows[label[rows] == 1]]
    seen = torch.cat([honest.arrays["edge/edge_index"].long(), hidden, hidden.flip(0)], 1)
    pointer = torch.tensor([0, seen.shape[1]])
    leaking = replace(honest, arrays=honest.arrays | {"edge/edge_index": seen, "ptr/edge": pointer})
    served = serve(leaking, CONFIG, torch.device("cpu")).outputs(trainer.evaluated, ("test",))
    assert score(served["test"], honest.info) > 0.65


def test_what_there_is_to_learn_is_learned() -> None:
    trainer = Trainer(CONFIG, groups())
    trainer.fit()
    found = scores(trainer.batches.outputs(trainer.evaluated, ("test",))["test"], trainer.info)
    assert list(found) == ["mrr", "auroc", "ap", "hits@10", "hits@50"]  # too few pairs for Hits@100
    assert found["auroc"] > 0.8
    assert found["ap"] > 0.75
    assert found["mrr"] > 2 * np.mean(1 / np.arange(1, RIVALS + 2))


@pytest.mark.parametrize("body", ["geco", "hybrid", *BASELINES])
def test_every_body(body: str) -> None:
    model = ModelConfig(body, hidden=8, heads=2, head_layers=2)
    config = replace(CONFIG, model=model, train=replace(CONFIG.train, epochs=1))
    assert 0 < Trainer(config, groups()).fit()["test"] < 1


def test_pairs_of_an_epoch_follow_from_seed_and_epoch() -> None:
    dataset = groups()
    ends, label = LinkTask(dataset, 0, seed=1).training(5)
    again = LinkTask(dataset, 0, seed=1).training(5)
    assert torch.equal(ends, again[0])
    for seed, epoch in ((1, 6), (2, 5)):
        assert not torch.equal(ends, LinkTask(dataset, 0, seed).training(epoch)[0])
    assert int(label.sum()) * 2 == len(label)
    true = {(u, v) for u, v in ends[:, label == 1].T.tolist()}
    assert true == {(v, u) for u, v in true}  # undirected: both ways
    every = dataset.arrays["link/edge_label_index"].long()[:, dataset.arrays["link/edge_label"] == 1]
    none = {(u, v) for u, v in ends[:, label == 0].T.tolist()}
    assert not none & {pair for u, v in every.T.tolist() for pair in ((u, v), (v, u))}


def test_validation_and_test_are_the_same_for_every_run() -> None:
    dataset, z = groups(), torch.randn(120, 4)
    one, two = (LinkTask(dataset, 0, seed).judge(z, _Plain(), "test") for seed in (0, 1))
    assert torch.equal(one[0], two[0])
    assert torch.equal(one[1], two[1])


class _Plain(DotHead):
    """Scores by the embeddings as they are."""

    def __init__(self) -> None:
        super().__init__(4)

    def forward(self, h: Tensor) -> Tensor:
        return h


def test_ranks_are_those_of_the_definition() -> None:
    """The rivals of a link are counted by hand; undirected links count half from each end."""
    dataset = groups()
    task, z = LinkTask(dataset, 0, 0), torch.randint(0, 3, (120, 4)).float()
    found, label = task.judge(z, _Plain(), "valid")
    ends = task.parts["valid"][0][:, label == 1]
    scores_of = z @ z.T
    wanted = torch.zeros(ends.shape[1], dtype=torch.float64)
    for way, side in enumerate((ends, ends.flip(0))):
        rivals, _ = task.none.rivals(side[0].numpy(), RIVALS, 1, way)
        for row, (u, v) in enumerate(side.T.tolist()):
            others = scores_of[u, rivals[row]]
            above, equal = int((others > scores_of[u, v]).sum()), int((others == scores_of[u, v]).sum())
            wanted[row] += 0.5 / (1 + above + equal / 2)
    torch.testing.assert_close(found[label == 1, 2], wanted)
    assert (found[label == 0, :4] == 0).all()


@pytest.mark.parametrize("directed", [False, True])
def test_undirected_pairs_have_one_score(directed: bool) -> None:
    head: LinkHead = PairHead(4, layers=2).eval()
    z, ends = head(torch.randn(9, 4)), torch.tensor([[0, 1, 2], [3, 4, 5]])
    one, other = (pair_scores(head, z, pairs, both=not directed) for pairs in (ends, ends.flip(0)))
    assert torch.allclose(one, other) == (not directed)
    assert pair_scores(head, z, ends[:, :0], both=True).shape == (0,)


def test_directed_links_are_told_apart_by_a_head_of_two_layers() -> None:
    """Sources look alike and so do targets: only the direction is to be learned."""
    rng = np.random.default_rng(0)
    kind = np.repeat([0, 1], 60)
    ends = np.stack([rng.integers(0, 60, 900), rng.integers(60, 120, 900)])
    back = np.stack([rng.integers(60, 120, 60), rng.integers(0, 60, 60)])  # some, so that there are no two sides
    ends = torch.from_numpy(np.concatenate([ends, back], 1))
    data = Data(x=torch.from_numpy(np.eye(2)[kind]).float(), edge_index=ends)
    dataset, dot, pair = (
        link_dataset(data, directed=True),
        ModelConfig("mlp", hidden=8, dropout=0.0),
        {"head_layers": 2},
    )
    flat, told = (Trainer(replace(CONFIG, model=m), dataset).fit()["test"] for m in (dot, replace(dot, **pair)))
    assert told > 0.8
    assert told > flat + 0.05


@pytest.mark.real
def test_cora(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Published for this split of Cora: 0.91 for a graph auto-encoder; words alone are worse."""
    monkeypatch.setenv("GECO_CACHE", str(tmp_path))
    dataset = link_dataset(load("cora")[0], fractions=(0.85, 0.05, 0.1))
    found = {}
    for body in ("geco", "gcn", "mlp"):
        config = replace(Config(), model=ModelConfig(body), train=TrainConfig(epochs=100, eval_every=10))
        found[body] = Trainer(config, dataset).fit()["test"]
    assert min(found["geco"], found["gcn"]) > 0.88
    assert found["mlp"] < min(found["geco"], found["gcn"]) - 0.03


def test_the_graph_is_served_with_the_pairs_of_the_epoch() -> None:
    batches = serve(groups(), CONFIG, torch.device("cpu"))
    assert isinstance(batches, OneGraphLinks)
    (one, mask), (two, _) = (next(iter(batches.train(epoch))) for epoch in (0, 1))
    assert mask is None
    assert "edge_label_index" not in next(batches.sample(0, 1))
    assert one.edge_index is two.edge_index  # so that what is remembered of the graph serves all epochs
    assert not torch.equal(one.edge_label_index, two.edge_label_index)
    assert list(batches.train(0, start=1)) == []
