"""Values are learnt at one size and reported in their own units; each target and the best guess have a score."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from geco.data.collate import collect
from geco.data.dataset import GraphDataset, Info
from geco.data.embedded.synthetic import erdos_renyi
from geco.train.build import build, chosen
from geco.train.config import Config, DataConfig, ModelConfig, TrainConfig
from geco.train.engine import Trainer
from geco.train.metrics import METRICS
from geco.train.targets import constant, targets
from geco.train.tasks import by_target
from geco.train.trained_run import load_run
from geco.train.unused import unused_fields

SMALL = Config(
    DataConfig("values", batch_size=16),
    ModelConfig("gcn", hidden=8, dropout=0.0, pool="sum"),
    train=TrainConfig(epochs=40, threads=1),
)


def values(graphs: int = 60, scale: float = 1000.0) -> GraphDataset:
    """Return paths whose targets are their length, in small units and in large ones; some are not known."""
    made = []
    for number in range(graphs):
        n = 3 + number % 7
        ends = torch.stack([torch.arange(n - 1), torch.arange(1, n)])
        y = torch.tensor([[n * 0.01, math.nan if number % 5 == 0 else n * scale]])
        made.append({"edge_index": ends, "num_nodes": n, "x": torch.ones(n, 2), "y": y})
    info = Info("values", "graph", "values", 2, "mae", names=("short", "long"))
    dataset = collect(info, made)
    numbers = torch.arange(graphs)
    parts = {"train": numbers[numbers % 4 > 1], "valid": numbers[numbers % 4 == 0], "test": numbers[numbers % 4 == 1]}
    return replace(dataset, arrays={**dataset.arrays, **{f"split/0/{name}": rows for name, rows in parts.items()}})


def test_units_are_those_of_the_known_training_values() -> None:
    dataset = values()
    network, y = build(SMALL, dataset), targets(dataset, dataset.split(0).train)
    assert network.units is not None
    torch.testing.assert_close(network.units.mean, y.nanmean(0))
    long = y[:, 1][~y[:, 1].isnan()]
    torch.testing.assert_close(network.units.std[1], long.std(correction=0))
    assert build(replace(SMALL, model=replace(SMALL.model, targets="raw")), dataset).units is None


def test_every_target_is_learnt_whatever_its_unit(tmp_path: Path) -> None:
    dataset = values()
    found = Trainer(SMALL, dataset, tmp_path / "run").fit()
    raw = Trainer(replace(SMALL, model=replace(SMALL.model, targets="raw")), dataset).fit()
    for result in (found, raw):
        assert set(result["targets"]["test"]) == {"short", "long"}
    short, long = found["targets"]["test"]["short"], found["targets"]["test"]["long"]
    assert short["r2"] > 0.8
    assert long["r2"] > 0.8
    assert raw["targets"]["test"]["long"]["r2"] < 0, "a network of deviation 1 does not reach thousands"
    assert found["test"] == pytest.approx((short["mae"] + long["mae"]) / 2), "in the units of the data"
    kept = json.loads((tmp_path / "run" / "result.json").read_text())
    assert kept["targets"] == found["targets"]
    test = dataset.split(0).test
    said = load_run(tmp_path / "run").predict(dataset)[test]
    assert METRICS["mae"].score(said, targets(dataset, test)) == pytest.approx(found["test"], rel=1e-4)


def test_the_best_epoch_is_chosen_at_one_size() -> None:
    epochs = []
    for scale in (1024.0, 2.0**-10):
        trainer = Trainer(replace(SMALL, train=replace(SMALL.train, epochs=12)), values(scale=scale))
        best, lines = trainer.fit(), trainer.state.history
        assert best["choice"] == min(line["choice"] for line in lines)
        assert best["epoch"] == next(line["epoch"] for line in lines if line["choice"] == best["choice"])
        epochs.append(best["epoch"])
    assert epochs[0] == epochs[1], "whatever the unit of the second value"


def test_scaling_the_units_changes_nothing_else() -> None:
    losses = [Trainer(SMALL, values(scale=scale)) for scale in (1024.0, 1.0)]
    first, second = (([t.fit(), t.state.history][1]) for t in losses)
    assert [line["loss"] for line in first] == pytest.approx([line["loss"] for line in second], rel=1e-3)


def test_auto_is_for_values_only() -> None:
    assert chosen(SMALL, values()).model.targets == "standardised"
    assert chosen(SMALL, erdos_renyi(20, degree=3)).model.targets == "raw"
    assert chosen(replace(SMALL, model=replace(SMALL.model, targets="raw")), values()).model.targets == "raw"


def test_guesses() -> None:
    dataset = values()
    y = targets(dataset, dataset.split(0).test)
    mean = targets(dataset, dataset.split(0).train).nanmean(0)
    assert constant(dataset, 0)["test"] == pytest.approx(METRICS["mae"].score(mean.expand(len(y), -1), y))
    nodes = erdos_renyi(200, degree=3, classes=3)
    y = targets(nodes, nodes.split(0).test)
    most = targets(nodes, nodes.split(0).train).mode().values
    assert constant(nodes, 0)["test"] == pytest.approx(float((y == most).float().mean()))
    balanced = replace(nodes, info=replace(nodes.info, num_targets=2, metric="auroc"), arrays=dict(nodes.arrays))
    balanced.arrays["node/y"] = nodes.arrays["node/y"].clamp(max=1)
    assert constant(balanced, 0) == {"valid": 0.5, "test": 0.5}


def test_scores_by_target() -> None:
    info = Info("c", "node", "class", 2, "accuracy", names=("cat", "dog"))
    found = by_target((torch.tensor([[2.0, 0], [0, 2], [0, 2]]), torch.tensor([0, 0, 1])), info)
    assert found == {"cat": {"f1": pytest.approx(2 / 3)}, "dog": {"f1": pytest.approx(2 / 3)}}
    labels = Info("l", "graph", "labels", 2, "auroc")
    y = torch.tensor([[0.0, 1.0], [1.0, 1.0]])
    assert by_target((torch.tensor([[-1.0, 0.0], [1.0, 0.0]]), y), labels) == {"0": {"auroc": 1.0}, "1": {}}
    assert by_target((torch.zeros(2, 99), y), replace(labels, num_targets=99)) == {}


def test_lines_hold_losses_rate_and_gradient(tmp_path: Path) -> None:
    Trainer(SMALL, values(), tmp_path / "run").fit()
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert len(lines) == 40
    assert {"epoch", "loss", "valid_loss", "lr", "gradient", "valid", "test", "targets", "choice"} == set(lines[0])
    assert lines[0]["lr"] < lines[5]["lr"], "warm-up"
    assert lines[20]["lr"] > lines[-1]["lr"] > 0, "cosine"
    assert lines[-1]["valid_loss"] < 0.5 < lines[0]["valid_loss"], "in deviations, as the loss of training is"
    assert all(line["gradient"] > 0 for line in lines)


def test_what_a_network_does_not_hear_is_kept_in_the_record(tmp_path: Path) -> None:
    graph = erdos_renyi(40, degree=3, features=3)
    weighted = graph.attach("edge/edge_weight", torch.ones(graph.num_edges))
    rich = weighted.attach("edge/edge_attr", torch.ones(graph.num_edges, 2))
    config = replace(SMALL, train=TrainConfig(epochs=1))
    assert Trainer(config, rich, tmp_path / "run").fit()["unused"] == ["edge_attr"], "a GCN uses weights"
    assert unused_fields(build(replace(config, model=ModelConfig("hybrid", hidden=8)), rich), graph) == []
    assert "edge_attr" not in unused_fields(build(replace(config, model=ModelConfig("hybrid", hidden=8)), rich), rich)
    blind = replace(config, model=ModelConfig("hybrid", hidden=8, local="gcn"))
    assert "edge_attr" in unused_fields(build(blind, rich), rich)


@pytest.mark.parametrize(
    ("name", "size", "wanted"), [("mine", 1e4, "robust"), ("mine", 1.0, "none"), ("cora", 1e4, "none")]
)
def test_own_columns_are_scaled_where_they_differ(name: str, size: float, wanted: str) -> None:
    drawn = erdos_renyi(300, degree=3, features=3)
    skewed = drawn.arrays["node/x"].clone()
    skewed[:, 0] *= size
    dataset = replace(drawn, info=replace(drawn.info, name=name), arrays={**drawn.arrays, "node/x": skewed})
    config = Config(model=ModelConfig("gcn"))
    assert chosen(config, dataset).model.scaling == wanted
    plain = replace(config, model=ModelConfig("gcn", standardise=True))
    assert chosen(plain, dataset).model.scaling == "none", "asked for by hand"
    assert build(config, dataset).config["inputs"]["robust"] == (wanted == "robust")
