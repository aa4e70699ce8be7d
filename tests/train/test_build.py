"""From settings to networks: hybrids, encodings, heads, statistics of the training part."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from geco.data.dataset import GraphDataset
from geco.data.embedded.synthetic import erdos_renyi, ring_copy
from geco.data.encodings import encode
from geco.data.encodings.registry import parse
from geco.errors import UsageError
from geco.nn import ImplicitFilter, LocalPropagation, PaperFilter
from geco.nn.filters import WindowedFilter
from geco.train.build import build, chosen, seed_of
from geco.train.config import Config, DataConfig, ModelConfig, TrainConfig, from_table
from geco.train.engine import Trainer
from geco.train.optim import make_optimizer

TWO_STEPS = Config(
    DataConfig("test", batch_size=8), ModelConfig(hidden=8, layers=2, dropout=0.1), train=TrainConfig(epochs=1)
)


@pytest.fixture(scope="module")
def rings() -> GraphDataset:
    return ring_copy(3, graphs=24)


def config(**model: Any) -> Config:
    return from_table({"model": model}, TWO_STEPS, "test")


@pytest.mark.parametrize("local", ["gatedgcn", "gine", "gcn", "gat", "pna", "none"])
@pytest.mark.parametrize("mixer", ["geco", "attention", "performer", "hyena", "none"])
def test_every_hybrid_trains(local: str, mixer: str, rings: GraphDataset) -> None:
    if (local, mixer) == ("none", "none"):
        with pytest.raises(ValueError, match="a layer needs a local GNN or a mixer"):
            build(config(name="hybrid", local=local, mixer=mixer), rings)
        return
    result = Trainer(config(name="hybrid", local=local, mixer=mixer, heads=2, mixer_dropout=0.1), rings).fit()
    assert 0 <= result["test"] <= 1


@pytest.mark.parametrize(
    "options",
    [
        *({"block": block} for block in ("lcb", "conv", "gcn", "gat", "gatedgcn", "none")),
        *({"context": context} for context in ("attention", "performer", "hyena")),
        {"adjacency": "attention"},
        {"filter": "paper", "order": 3},
    ],
)
def test_geco_with_a_block_replaced_trains(options: dict[str, Any], rings: GraphDataset) -> None:
    made = config(name="hybrid", local="none", mixer="cascade", layer_norm="layer", heads=2, **options)
    cascade: Any = build(made, rings).body.layers[0].mixer
    assert cascade.names == (options.get("block", "lcb"), options.get("context", "gcb"))
    assert 0 <= Trainer(made, rings).fit()["test"] <= 1


@pytest.mark.parametrize("bias", ["spb", "pma", "mask-1", "mask-n"])
@pytest.mark.parametrize("mixer", ["attention", "cascade"])
def test_attention_that_is_told_of_the_graph_trains(mixer: str, bias: str, rings: GraphDataset) -> None:
    made = config(name="hybrid", local="none", mixer=mixer, context="attention", heads=2, attention_bias=bias)
    layer: Any = build(made, rings).body.layers[0].mixer
    told = (layer.context if mixer == "cascade" else layer).bias
    assert type(told).__name__ == {"spb": "ShortestPath", "pma": "Proximity"}.get(bias, "HopMask")
    trainer = Trainer(made, rings)
    assert 0 <= trainer.fit()["test"] <= 1
    weights = [p for name, p in trainer.model.named_parameters() if name.endswith("bias.weight")]
    assert len(weights) == (0 if "mask" in bias else 2)
    assert all(bool(p.any()) for p in weights)  # they began at zero


@pytest.mark.parametrize("mixer", ["geco", "attention"])
def test_a_gnn_before_the_mixer_trains(mixer: str, rings: GraphDataset) -> None:
    made = config(name="hybrid", local="gcn", mixer=mixer, arrangement="before", permutation="dynamic", heads=2)
    assert len(build(made, rings).body.layers) == 2 * made.model.layers
    assert 0 <= Trainer(made, rings).fit()["test"] <= 1
    for wrong in ({"name": "gcn"}, {"name": "hybrid", "local": "none"}, {"name": "hybrid", "mixer": "none"}):
        with pytest.raises(UsageError, match="hybrid with a local GNN and a mixer; got"):
            config(**wrong, arrangement="before")


@pytest.mark.parametrize("model", [{}, {"name": "hybrid"}, {"name": "hybrid", "mixer": "cascade"}])
def test_a_bias_without_attention_is_refused(model: dict[str, str]) -> None:
    with pytest.raises(UsageError, match=r"--model\.attention-bias spb is for .* --model\.mixer attention"):
        config(**model, attention_bias="spb")


def test_nothing_replaced_is_geco(rings: GraphDataset) -> None:
    same = {"local": "none", "mixer": "cascade", "layer_norm": "layer", "ffn_ratio": 1.0}
    ours, cascade = (build(config(name=name, **more), rings) for name, more in (("geco", {}), ("hybrid", same)))
    assert sorted(p.shape for p in ours.parameters()) == sorted(p.shape for p in cascade.parameters())
    wide: Any = build(config(name="hybrid", **same, block="conv", block_width=7), rings).body.layers[0].mixer
    assert wide.local.conv.weight.shape[-1] == 7


@pytest.mark.parametrize("body", ["geco", "hybrid"])
def test_the_papers_filter_trains_at_the_filters_rate(body: str, rings: GraphDataset) -> None:
    made = config(name=body, filter="paper", filter_gain="l1")
    network = build(made, rings)
    filters = [m for m in network.modules() if isinstance(m, PaperFilter)]
    assert [m.gain for m in filters] == ["l1", "l1"]
    groups = make_optimizer(network, replace(made.optim, filter_lr=0.1)).param_groups
    assert {id(p) for p in groups[-1]["params"]} == {id(p) for m in filters for p in m.parameters()}
    assert 0 <= Trainer(made, rings).fit()["test"] <= 1


@pytest.mark.parametrize("permutation", ["natural", "static", "dynamic"])
def test_hyena_trains_in_every_order(permutation: str, rings: GraphDataset) -> None:
    made = config(name="hyena", permutation=permutation)
    body: Any = build(made, rings).body
    assert (body.permutation, body.mixers[0].filter.length) == (permutation, None)
    assert build(config(name="hyena", hyena_length=64), rings).body.mixers[0].filter.length == 64
    assert 0 <= Trainer(made, rings).fit()["test"] <= 1


@pytest.mark.parametrize("body", ["geco", "hybrid", "gcn"])
@pytest.mark.parametrize("join", ["concat", "add"])
def test_encodings_join_the_features(body: str, join: str, rings: GraphDataset) -> None:
    names = ("lap-pe-values:3", "rwse:4")
    data = encode(rings, [parse(name) for name in names])
    made = replace(config(name=body, join=join, encoding_width=2), data=replace(TWO_STEPS.data, encodings=names))
    network = build(made, data)
    assert network.nodes is not None
    assert network.embed(data.batch([0, 1])).shape[1] == 8
    assert network.nodes.encodings["lap_pe_values"].channels == (2 if join == "concat" else 8)
    Trainer(made, data).fit()


def test_statistics_are_those_of_the_training_graphs() -> None:
    data = erdos_renyi(12, degree=3, graphs=20, features=4, seed=3)
    network = build(config(standardise=True, name="hybrid"), data)
    rows = data.batch(data.split(0).train).x
    assert network.nodes is not None
    features: Any = network.nodes.features
    torch.testing.assert_close(features.mean, rows.mean(0))
    torch.testing.assert_close(features.std, rows.std(0, correction=0))


def test_heads_have_the_widths_asked_for(rings: GraphDataset) -> None:
    network = build(config(head_layers=3, head_widths="halving", pool="attention", hidden=16), rings)
    assert [tuple(lin.weight.shape) for lin in network.head.mlp.lins][:2] == [(8, 16), (4, 8)]


@pytest.mark.parametrize("body", ["geco", "gcn", "mlp"])
def test_norms_can_be_left_out(body: str, rings: GraphDataset) -> None:
    made = config(name=body, block_norm=False)
    network, usual = build(made, rings), build(config(name=body), rings)
    layers = "body.layers.0.norm" if body == "geco" else "body.norms"
    assert any(name.startswith(layers) for name, _ in usual.named_parameters())
    assert not any(name.startswith(layers) for name, _ in network.named_parameters())
    assert 0 <= Trainer(made, rings).fit()["test"] <= 1


def test_rare_classes_weigh_more_if_asked() -> None:
    data = erdos_renyi(40, degree=3, seed=1)
    losses = []
    for weigh in (False, True):
        made = from_table({"train": {"class_weights": weigh, "epochs": 1}}, TWO_STEPS, "test")
        trainer = Trainer(made, data)
        losses.append(trainer.step([(0, *next(iter(trainer.batches.train(0))))]))
    assert losses[0] != losses[1]


def test_filters_are_chosen_by_what_the_data_is() -> None:
    many, few, one = ring_copy(3, graphs=20), erdos_renyi(10, degree=2), erdos_renyi(2500, degree=2)
    for dataset, filter, order in ((many, "windows", "structure"), (few, "none", "static"), (one, "mean", "static")):
        found = chosen(Config(), dataset).model
        assert (found.filter, found.permutation) == (filter, order)
    given = Config(model=ModelConfig(filter="paper", permutation="dynamic"))
    assert chosen(given, many).model == replace(given.model, scaling="none", targets="raw", edges="partly")
    assert chosen(Config(model=ModelConfig(name="hyena")), many).model.permutation == "natural"


def test_the_filter_of_before_is_within_reach() -> None:
    network = build(Config(model=ModelConfig(filter="waves", filter_gain="mean")), ring_copy(3, graphs=20))
    assert [m.gain for m in network.modules() if isinstance(m, ImplicitFilter)] == ["mean"] * 2


@pytest.mark.parametrize(("filter", "gain"), [("windows", "l1"), ("waves", "l1"), ("auto", "mean"), ("mean", "mean")])
def test_a_gain_that_would_be_ignored_is_refused(filter: Any, gain: Any) -> None:
    with pytest.raises(UsageError, match=f"--model.filter-gain {gain} is for --model.filter paper"):
        ModelConfig(filter=filter, filter_gain=gain)


def test_windows_start_silent_or_drawn() -> None:
    loud = [
        [bool(m.windows().any()) for m in build(Config(model=ModelConfig(**given)), ring_copy(3, graphs=20)).modules()
         if isinstance(m, WindowedFilter)]
        for given in ({}, {"filter": "windows", "filter_start": "drawn"})
    ]  # fmt: skip
    assert loud == [[False] * 2, [True] * 2]
    with pytest.raises(UsageError, match=r"drawn is for --model.filter windows, got filter auto"):
        ModelConfig(filter_start="drawn")


def test_seeds_depend_on_every_number() -> None:
    assert len({seed_of(a, b, c) for a in range(4) for b in range(4) for c in range(4)}) == 64


@pytest.mark.parametrize("name", ["geco", "hybrid"])
def test_the_adjacency_reaches_every_layer(name: str) -> None:
    made = build(Config(model=ModelConfig(name, adjacency="row", local="gcn")), erdos_renyi(10, degree=2))
    found = {module.adjacency for module in made.modules() if isinstance(module, LocalPropagation)}
    assert found == {"row"}
