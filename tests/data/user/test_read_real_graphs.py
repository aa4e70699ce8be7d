"""Real graphs exported to tables and imported again, and how long a large one takes."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from geco.data.user.edges import both_ways
from geco.data.user.read import read_own
from geco.data.user.schema import OwnOptions


@pytest.mark.real
def test_cora_exported_and_imported_is_cora(tmp_path: Path) -> None:
    from geco.data.registry import find
    from geco.data.sources.planetoid import read

    cora = read(Path(os.environ["GECO_DATA"]) / "planetoid", find("cora"))
    graph, split = cora[0], cora.split()
    words = np.full(graph.num_nodes, "", object)
    for part in ("train", "valid", "test"):
        words[getattr(split, part).numpy()] = part
    frame = pd.DataFrame(graph.x.numpy(), columns=[f"word{i}" for i in range(graph.num_features)])
    frame.assign(paper=[f"p{i}" for i in range(len(frame))], subject=graph.y.numpy(), split=words).to_csv(
        tmp_path / "nodes.csv", index=False
    )
    pd.DataFrame(
        {"source": [f"p{i}" for i in graph.edge_index[0]], "target": [f"p{i}" for i in graph.edge_index[1]]}
    ).to_csv(tmp_path / "edges.csv", index=False)
    dataset, _ = read_own(tmp_path, OwnOptions(id="paper", label=("subject",)))
    found = dataset[0]
    order = np.lexsort((graph.edge_index[1], graph.edge_index[0]))
    assert torch.equal(found.edge_index, graph.edge_index[:, order])
    torch.testing.assert_close(found.x, graph.x)
    assert torch.equal(found.y, graph.y)
    assert all(
        torch.equal(getattr(dataset.split(), p), getattr(split, p).sort().values) for p in ("train", "valid", "test")
    )


@pytest.mark.real
def test_amazon_photo_exported_and_imported_is_the_same(tmp_path: Path) -> None:
    found = np.load(Path(os.environ["GECO_DATA"]) / "amazon-photo" / "graph.npz")
    source = np.repeat(np.arange(len(found["labels"])), np.diff(found["adj_indptr"]))
    pd.DataFrame({"id": np.arange(len(found["labels"])), "label": found["labels"]}).to_csv(
        tmp_path / "nodes.csv", index=False
    )
    pd.DataFrame({"src": source, "dst": found["adj_indices"]}).to_csv(tmp_path / "edges.csv", index=False)
    graph = read_own(tmp_path)[0][0]
    wanted = {(u, v) for u, v in zip(source.tolist(), found["adj_indices"].tolist(), strict=True)}
    assert set(map(tuple, graph.edge_index.T.tolist())) == wanted | {(v, u) for u, v in wanted}
    assert graph.y.tolist() == found["labels"].tolist()


@pytest.mark.slow
def test_a_million_edges_in_seconds(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    pd.DataFrame({"id": [f"user{i}" for i in range(200_000)], "label": np.arange(200_000) % 3}).to_csv(
        tmp_path / "nodes.csv"
    )
    ends = rng.integers(0, 200_000, (2, 1_000_000))
    pd.DataFrame({"source": ends[0], "target": ends[1]}).map("user{}".format).to_csv(
        tmp_path / "edges.csv", index=False
    )
    start = time.process_time()
    dataset, _ = read_own(tmp_path)
    assert time.process_time() - start < 15  # 2.5 s of one processor, measured
    assert dataset.num_edges == both_ways(ends, 200_000)[0].shape[1]
