from __future__ import annotations

import dataclasses
import logging
from pathlib import Path

import pytest
import torch

from geco.data.cache import Cache
from geco.data.collate import collect
from geco.data.dataset import GraphDataset, Info
from geco.data.encodings import AdjacencySVD, Degree, LaplacianEigenvectors, RandomWalk, budget, encode
from geco.errors import ResourceError, UsageError
from tests.data.encodings.graphs import random_graph

ENCODINGS = [LaplacianEigenvectors(4), RandomWalk(4), Degree(), AdjacencySVD(2)]


def dataset(graphs: int = 30, weights: bool = False) -> GraphDataset:
    def make(number: int) -> dict[str, torch.Tensor]:
        nodes = 1 + 7 * number % 40
        ends = torch.from_numpy(random_graph(nodes, 4, number))
        found = {"x": torch.zeros(nodes, 1), "edge_index": ends, "y": torch.tensor([number % 2])}
        return {**found, "edge_weight": torch.rand(ends.shape[1])} if weights else found

    return collect(Info("some", "graph", "class", 2, "accuracy"), [make(i) for i in range(graphs)])


@pytest.mark.parametrize("weights", [False, True])
def test_equals_the_transform_graph_for_graph(tmp_path: Path, weights: bool) -> None:
    plain = dataset(weights=weights)
    found = encode(plain, ENCODINGS, Cache(tmp_path), workers=0)
    for encoding in ENCODINGS:
        for i in range(len(plain)):
            wanted = dataclasses.replace(encoding, attr_name="pe")(plain[i]).pe
            assert torch.equal(found[i][encoding.name], wanted)
    assert torch.equal(found.arrays["node/x"], plain.arrays["node/x"])


def test_processes_do_not_change_a_bit(tmp_path: Path) -> None:
    plain = dataset(60)
    results = [encode(plain, ENCODINGS, Cache(tmp_path / str(w)), workers=w) for w in (0, 1, 3)]
    for encoding in ENCODINGS:
        first, *others = (r.arrays[f"node/{encoding.name}"] for r in results)
        assert all(torch.equal(first, other) for other in others)


def test_second_call_does_not_compute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = encode(dataset(), [RandomWalk(3)], Cache(tmp_path), workers=0)
    monkeypatch.setattr(RandomWalk, "compute", None)
    again = encode(dataset(), [RandomWalk(3)], Cache(tmp_path))
    assert torch.equal(again.arrays["node/rwse"], first.arrays["node/rwse"])
    with pytest.raises(TypeError):
        encode(dataset(), [RandomWalk(4)], Cache(tmp_path))


def test_features_do_not_change_the_key_edges_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = dataset()
    encode(plain, [Degree()], Cache(tmp_path))
    monkeypatch.setattr(Degree, "compute", None)
    encode(plain.attach("node/x", torch.ones(plain.num_nodes, 5)), [Degree()], Cache(tmp_path))
    with pytest.raises(TypeError):
        encode(dataset(29), [Degree()], Cache(tmp_path))


def test_long_work_is_announced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "geco")
    monkeypatch.setattr(budget, "LONG", 0.0)
    encode(dataset(), [Degree()], Cache(tmp_path), workers=0)
    assert "some: degree: about 0 seconds and 0.0 GiB" in caplog.text
    caplog.clear()
    monkeypatch.setattr(budget, "LONG", 10.0)
    encode(dataset(), [RandomWalk(2)], Cache(tmp_path), workers=0)
    assert not caplog.text


def test_too_little_memory_is_refused_before_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "available_memory", lambda swap: 10**4)
    with pytest.raises(ResourceError, match="GiB"):
        encode(dataset(), [RandomWalk(3)], Cache(tmp_path))


def test_same_name_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="node/rwse"):
        encode(dataset(2), [RandomWalk(3), RandomWalk(4)], Cache(tmp_path))


def test_graphs_without_nodes_or_edges(tmp_path: Path) -> None:
    empty = torch.zeros(2, 0, dtype=torch.int64)
    graphs = [{"x": torch.zeros(n, 1), "edge_index": empty, "y": torch.tensor([0])} for n in (3, 1)]
    found = encode(
        collect(Info("bare", "graph", "class", 2, "accuracy"), graphs), ENCODINGS, Cache(tmp_path), workers=2
    )
    assert found.arrays["node/lap_pe"].shape == (4, 4)
    assert not found.arrays["node/lap_pe"].any()
