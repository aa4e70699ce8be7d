from __future__ import annotations

from dataclasses import replace

import pytest

from geco.data.embedded.synthetic import erdos_renyi
from geco.names import BASELINES, MIXERS
from geco.train.config import Config, DataConfig, ModelConfig
from geco.train.engine import Trainer
from geco.tune.space import Choice, Real, Whole, default_space
from geco.tune.space_file import TUNED, with_values

ONE = erdos_renyi(40, degree=3, features=5)


def test_ranges_hold_what_can_be_drawn() -> None:
    assert Real(0.0, 0.8, step=0.1).holds(0.3)
    assert not Real(0.0, 0.8, step=0.1).holds(0.35)
    assert not Real(0.0, 0.8).holds(True)
    assert Whole(1, 9, step=2).holds(3)
    assert not Whole(1, 9, step=2).holds(4)
    assert not Whole(1, 9).holds(2.0)
    assert Choice((1, 2)).holds(2)


def test_drawn_numbers_are_short_and_stay_within_the_range() -> None:
    assert Real(0.0, 1.0, step=0.1).plain(0.1 + 0.2) == 0.3
    assert Real(0.12342, 1.0).plain(0.12343) == 0.12342


@pytest.mark.parametrize("name", ["geco", *BASELINES])
def test_both_ends_of_each_network_are_trained(name: str) -> None:
    space = default_space(ModelConfig(name=name), "node")
    assert set(space) <= set(TUNED)
    small = {n: s.values[0] if isinstance(s, Choice) else s.low for n, s in space.items()}
    large = {n: s.values[-1] if isinstance(s, Choice) else s.high for n, s in space.items()}
    base = Config(DataConfig("test"), ModelConfig(name=name))
    for values in (small, {**large, "model.hidden": 32}):
        config = with_values(base, values, "test")
        trainer = Trainer(config, ONE, parts=("valid",))
        data, mask = next(iter(trainer.batches.train(0)))
        assert trainer.step([(0, data, mask)]) > 0


@pytest.mark.parametrize("mixer", [*MIXERS, "none"])
def test_widths_of_hybrids_suit_their_heads(mixer: str) -> None:
    base = Config(DataConfig("test"), ModelConfig(name="hybrid", mixer=mixer))
    space = default_space(base.model, "node")
    heads = space.get("model.heads", Choice((4,)))
    widths = space["model.hidden"]
    assert isinstance(heads, Choice)
    assert isinstance(widths, Choice)
    assert all(width % count == 0 for width in widths.values for count in heads.values)
    trainer = Trainer(replace(base, model=replace(base.model, hidden=48, heads=heads.values[-1])), ONE)
    assert trainer.parameters > 0


def test_pooling_is_tried_where_graphs_are_predicted() -> None:
    assert "model.pool" in default_space(ModelConfig(), "graph")
    assert "model.pool" not in default_space(ModelConfig(), "link")
