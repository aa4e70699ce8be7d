"""Every kind of task goes through the loop and is scored as its metric says."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from geco.data.collate import collect
from geco.data.dataset import GraphDataset, Info, Split
from geco.errors import UsageError
from geco.train.config import Config, DataConfig, ModelConfig, OptimConfig, TrainConfig
from geco.train.engine import Trainer
from geco.train.tasks import disagreement, loss, score, scores

CONFIG = Config(
    DataConfig("t", batch_size=7),
    ModelConfig(hidden=16, dropout=0.0),
    OptimConfig(lr=0.02, warmup=0),
    TrainConfig(epochs=12),
)
INFOS = {
    "class": Info("class", "graph", "class", 3, "accuracy"),
    "labels": Info("labels", "graph", "labels", 2, "auroc"),
    "values": Info("values", "graph", "values", 2, "mae"),
    "tokens": Info("tokens", "graph", "tokens", 2, "token-f1", names=("a", "b", "c", "<unknown>", "<end>")),
    "link": Info("link", "link", "labels", 1, "mrr-extended"),
    "categories": Info("categories", "graph", "class", 3, "accuracy", categories=(3, 5)),
}


def graphs(kind: str, count: int = 60) -> GraphDataset:
    """Return paths whose answer is written in the features of every node."""
    generator = torch.Generator().manual_seed(0)
    rows = []
    for number in range(count):
        n, answer = 3 + number % 4, number % 3
        edges = torch.stack([torch.arange(n - 1), torch.arange(1, n)])
        graph = {"x": torch.eye(3)[answer].repeat(n, 1), "edge_index": torch.cat([edges, edges.flip(0)], 1)}
        if kind == "categories":
            graph["x"] = torch.stack([torch.full((n,), answer), torch.randint(0, 5, (n,), generator=generator)], 1)
        if kind in ("class", "categories"):
            graph["y"] = torch.tensor([answer])
        elif kind == "labels":
            graph["y"] = torch.tensor([[float(answer == 0), math.nan if number % 5 == 0 else float(answer == 1)]])
        elif kind == "values":
            graph["y"] = torch.tensor([[answer, math.nan if number % 5 == 0 else -answer]])
        elif kind == "tokens":
            graph["y"] = torch.tensor([[answer, 4]])
        else:  # links to the next but one
            graph["x"] = torch.eye(2)[torch.arange(n) % 2]
            graph["edge_label_index"] = torch.tensor([[0, 0], [2, 1]])
            graph["edge_label"] = torch.tensor([1, 0])
        rows.append(graph)
    numbers = torch.arange(count)
    return collect(INFOS[kind], rows, [Split(numbers[:40], numbers[40:50], numbers[50:])])


@pytest.mark.parametrize("kind", INFOS)
def test_learns(kind: str) -> None:
    result = Trainer(CONFIG, graphs(kind)).fit()
    assert result["test"] < 0.3 if kind == "values" else result["test"] > (0.7 if kind == "link" else 0.9), result


def test_missing_labels_count_nowhere() -> None:
    dataset = graphs("labels")
    batch = dataset.batch(range(10))
    output = torch.randn(10, 2)
    there = batch.y.isfinite()
    wanted = torch.nn.functional.binary_cross_entropy_with_logits(output[there], batch.y[there])
    assert torch.equal(loss(output, batch, None, dataset.info), wanted)
    batch.y[:] = math.nan
    assert float(loss(output, batch, None, dataset.info)) == 0


def test_disagreement_equals_its_formula() -> None:
    outputs = [torch.randn(5, 3, dtype=torch.float64, requires_grad=True) for _ in range(2)]
    with torch.no_grad():
        mean = (outputs[0].softmax(1) + outputs[1].softmax(1)) / 2
        target = torch.stack([row**2 / (row**2).sum() for row in mean])
    wanted = sum(((o.softmax(1) - target) ** 2).sum() for o in outputs) / 10
    found = disagreement(outputs)
    torch.testing.assert_close(found, wanted)
    for got, should in zip(
        torch.autograd.grad(found, outputs), torch.autograd.grad(wanted, outputs), strict=True
    ):  # the target is not learned
        torch.testing.assert_close(got, should)


def test_consistency_learns_from_rows_without_a_label() -> None:
    """Without labels there is a loss with the option, and none otherwise."""
    data, made = graphs("class"), replace(CONFIG, model=replace(CONFIG.model, dropout=0.5))
    plain, both = (Trainer(replace(made, train=replace(made.train, consistency=c)), data) for c in (0.0, 2.0))
    batch, mask = next(iter(plain.batches.train(0)))
    unlabelled = batch.clone()
    unlabelled.y = torch.full_like(batch.y, -1)
    assert plain.step([(0, unlabelled, mask)]) == 0.0
    assert both.step([(0, unlabelled, mask)]) > 0.0
    assert both.step([(0, batch, mask)]) > 0.0
    assert both.fit()["test"] > 0.9


def test_links_of_many_graphs_have_their_score_per_graph_whatever_the_batches() -> None:
    dataset = graphs("link")
    found = []
    for size in (3, 10):
        trainer = Trainer(replace(CONFIG, data=DataConfig("t", batch_size=size)), dataset)
        judged = trainer.batches.outputs(trainer.evaluated.eval(), ("test",))["test"]
        found.append(scores(judged, trainer.info))
    assert list(found[0]) == ["mrr-extended", "mrr", "mrr-filtered", "mrr-per-graph"]
    assert found[0] == pytest.approx(found[1])
    assert found[0]["mrr-per-graph"] == pytest.approx(found[0]["mrr"])  # a link in each graph
    with pytest.raises(UsageError, match="auroc needs pairs without a link"):
        score(judged, replace(trainer.info, metric="auroc"))


@pytest.mark.parametrize("kind", ["labels", "values", "tokens", "link"])
def test_consistency_is_of_classes(kind: str) -> None:
    made = replace(CONFIG, train=replace(CONFIG.train, consistency=1.0))
    with pytest.raises(UsageError, match="is for classes"):
        Trainer(made, graphs(kind))


def test_consistency_needs_dropout() -> None:
    made = replace(CONFIG, model=replace(CONFIG.model, dropout=0.0), train=replace(CONFIG.train, consistency=1.0))
    with pytest.raises(UsageError, match="different dropout, and there is none"):
        Trainer(made, graphs("class"))
