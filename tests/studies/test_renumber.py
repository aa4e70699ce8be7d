from __future__ import annotations

from pathlib import Path

import pytest
import torch

from geco.data.embedded.synthetic import ring_copy
from geco.studies import renumber
from geco.studies.renumber import renumbered
from geco.train.build import prepared
from geco.train.config import Config, DataConfig, ModelConfig, TrainConfig
from geco.train.engine import Trainer


def test_graphs_stay_what_they_are() -> None:
    before = ring_copy(4, graphs=20)
    after = renumbered(before, seed=1)
    for i in range(len(before)):
        a, b = before[i], after[i]
        assert sorted(map(tuple, a.x.tolist())) == sorted(map(tuple, b.x.tolist()))
        ends = [sorted(zip(*(g.x[e].tolist() for e in g.edge_index), strict=True)) for g in (a, b)]
        assert ends[0] == ends[1], "edges join other nodes"
    assert not torch.equal(before.arrays["edge/edge_index"], after.arrays["edge/edge_index"])


def test_prints_scores(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = ModelConfig(hidden=4, layers=1, permutation="structure")
    config = Config(DataConfig("ring-copy", batch_size=64), model, train=TrainConfig(epochs=1, threads=1))
    Trainer(config, prepared(config), tmp_path / "run").fit()
    renumber.main([str(tmp_path / "run"), "--seeds", "3", "--json", str(tmp_path / "out.json")])
    assert "accuracy of the test graphs, renumbered, seed 3" in capsys.readouterr().out
    assert (tmp_path / "out.json").exists()
