from __future__ import annotations

from unittest.mock import Mock

import numpy as np
import pytest
import scipy.linalg
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data
from torch_geometric.transforms import AddLaplacianEigenvectorPE

from geco.data.encodings import LaplacianEigenvectors, spectrum
from geco.data.encodings.base import components, undirected
from tests.data.encodings.graphs import Ends, dense_laplacian, graphs, random_graph, ring, star_of_paths

NORMS = st.sampled_from(["sym", "none"])


@given(graphs(), NORMS, st.booleans(), st.integers(1, 14))
def test_whole_graph_gives_the_smallest_eigenpairs(graph: tuple[Ends, int], norm: str, skip: bool, k: int) -> None:
    ends, nodes = graph
    found = LaplacianEigenvectors(k, norm, skip, with_values=True, per_component=False).compute(ends, nodes)
    vectors, values = found[:, :k].astype(float), found[:, k:].astype(float)
    matrix = dense_laplacian(ends, nodes, norm)
    wanted = np.linalg.eigvalsh(matrix)[int(skip) :][:k]
    count = len(wanted)
    assert np.allclose(values[:, :count], wanted, atol=1e-5)
    assert np.allclose(matrix @ vectors, vectors * values, atol=1e-5)
    assert np.allclose(vectors[:, :count].T @ vectors[:, :count], np.eye(count), atol=1e-5)
    assert not vectors[:, count:].any()
    assert not values[:, count:].any()


@given(graphs(), NORMS, st.booleans(), st.integers(1, 14))
def test_each_component_is_encoded_as_if_alone(graph: tuple[Ends, int], norm: str, skip: bool, k: int) -> None:
    ends, nodes = graph
    encoding = LaplacianEigenvectors(k, norm, skip, with_values=True)
    found = encoding.compute(ends, nodes)
    label = components(undirected(ends, nodes))[1]
    for number in range(label.max() + 1):
        own = np.flatnonzero(label == number)
        inside = ends[:, label[ends[0]] == number]
        alone = encoding.compute(np.searchsorted(own, inside), len(own))
        assert np.array_equal(found[own], alone)
        whole = LaplacianEigenvectors(k, norm, skip, with_values=True, per_component=False)
        assert np.array_equal(alone, whole.compute(np.searchsorted(own, inside), len(own)))


@given(graphs())
def test_direction_and_self_loops_do_not_count(graph: tuple[Ends, int]) -> None:
    ends, nodes = graph
    ends = np.unique(ends[:, ends[0] != ends[1]], axis=1)
    loops = np.tile(np.arange(nodes), (2, 1))
    encoding = LaplacianEigenvectors(4)
    wanted = encoding.compute(np.unique(np.hstack([ends, ends[::-1]]), axis=1), nodes)
    assert np.array_equal(encoding.compute(np.hstack([ends, loops]), nodes), wanted)


def test_largest_entry_is_positive() -> None:
    found = LaplacianEigenvectors(5).compute(random_graph(30, 6), 30)
    assert (found[np.abs(found).argmax(0), np.arange(5)] > 0).all()


def test_equals_pyg_up_to_signs() -> None:
    for seed in range(5):
        ends = random_graph(40, 8, seed)
        both = np.unique(np.hstack([ends, ends[::-1]]), axis=1)
        graph = Data(edge_index=torch.from_numpy(both), num_nodes=40)
        theirs = AddLaplacianEigenvectorPE(6, is_undirected=True, attr_name="pe")(graph).pe.numpy()
        ours = LaplacianEigenvectors(6, per_component=False).compute(both, 40)
        assert np.allclose(np.abs(ours), np.abs(theirs), atol=1e-4)


@pytest.mark.parametrize("norm", ["sym", "none"])
@pytest.mark.parametrize(
    ("ends", "nodes"),
    [(ring(300), 300), (star_of_paths(7, 40), 281), (random_graph(400, 3), 400), (random_graph(400, 12), 400)],
    ids=["ring", "star", "thin", "thick"],
)
def test_large_path_agrees_with_lapack(ends: Ends, nodes: int, norm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    k = 7
    encoding = LaplacianEigenvectors(k, norm, with_values=True, per_component=False)
    exact = encoding.compute(ends, nodes)
    monkeypatch.setattr(spectrum, "DENSE", 5)
    found = encoding.compute(ends, nodes)
    assert np.array_equal(found, encoding.compute(ends, nodes))
    assert np.allclose(found[:, k:], exact[:, k:], atol=1e-6)
    vectors, values = found[:, :k].astype(float), found[:, k:].astype(float)
    assert np.abs(dense_laplacian(ends, nodes, norm) @ vectors - vectors * values).max() < 1e-5
    assert np.abs(vectors.T @ vectors - np.eye(k)).max() < 1e-5
    groups = np.cumsum(np.r_[0, np.diff(exact[0, k:]) > 1e-5])  # equal eigenvalues share a space; the last may be cut
    for group in range(groups.max()):
        own = groups == group
        assert scipy.linalg.subspace_angles(vectors[:, own], exact[:, :k][:, own].astype(float)).max() < 1e-3


def test_without_convergence_it_is_still_finite_and_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(spectrum, "DENSE", 5)
    monkeypatch.setattr(spectrum, "ENVELOPE", 0)
    monkeypatch.setattr(spectrum, "RESTARTS", 1)
    monkeypatch.setattr(spectrum, "STEPS", 2)
    found = LaplacianEigenvectors(4).compute(ring(300), 300)
    assert np.isfinite(found).all()
    assert np.array_equal(found, LaplacianEigenvectors(4).compute(ring(300), 300))
    assert "approximate" in caplog.text


def test_fallback_converges(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    ends = random_graph(400, 6)
    exact = LaplacianEigenvectors(4, "none", with_values=True).compute(ends, 400)
    monkeypatch.setattr(spectrum, "DENSE", 5)
    monkeypatch.setattr(spectrum, "ENVELOPE", 0)
    monkeypatch.setattr(spectrum, "RESTARTS", 1)
    used = Mock(wraps=spectrum._lobpcg)
    monkeypatch.setattr(spectrum, "_lobpcg", used)
    found = LaplacianEigenvectors(4, "none", with_values=True).compute(ends, 400)
    used.assert_called()
    assert np.allclose(found, exact, atol=1e-3)
    assert not caplog.text
