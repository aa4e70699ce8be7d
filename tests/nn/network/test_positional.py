from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from geco.data.encodings import Degree, LaplacianEigenvectors, RandomWalk
from geco.nn.network.positional import LaplacianDeepSet, LinearEncoding, flip_signs, make_position


def one_by_one(encoder: LaplacianDeepSet, pe: Tensor, k: int) -> Tensor:
    """The twin: a loop over nodes and eigenpairs, in evaluation mode."""
    rows = []
    for row in pe:
        total = torch.zeros(encoder.channels, dtype=pe.dtype)
        for j in range(k):
            pair = row[[j, k + j]] if encoder.values else row[[j]]
            if bool(pair.isnan().any()) or (encoder.values and bool((pair == 0).all())):
                continue
            for lin in encoder.phi.lins:
                pair = lin(pair).relu()
            total = total + pair
        if isinstance(encoder.rho, nn.Identity):
            rows.append(total)
            continue
        for lin in encoder.rho.lins:
            total = lin(total).relu()
        rows.append(total)
    return torch.stack(rows)


@given(
    n=st.integers(1, 6), k=st.integers(1, 5), layers=st.integers(1, 3), post=st.integers(0, 2), values=st.booleans(),
    missing=st.sampled_from([0.0, math.nan]), seed=st.integers(0, 99),
)  # fmt: skip
def test_equals_a_loop_over_pairs(
    n: int, k: int, layers: int, post: int, values: bool, missing: float, seed: int
) -> None:
    torch.manual_seed(seed)
    encoder = (
        LaplacianDeepSet(2 * k if values else k, 4, values=values, layers=layers, post_layers=post).double().eval()
    )
    pe = torch.randn(n, 2 * k if values else k, dtype=torch.float64)
    gone = torch.rand(n, k) < 0.4
    pe.view(n, -1, k).masked_fill_(gone[:, None], missing)
    torch.testing.assert_close(encoder(pe), one_by_one(encoder, pe, k))


def test_gradients_reach_all_weights() -> None:
    for encoder, pe in (
        (LaplacianDeepSet(6, 8, post_layers=2), torch.randn(50, 6)),
        (LinearEncoding(3, 8), torch.rand(50, 3)),
    ):
        (encoder(pe) * torch.randn(50, 8)).sum().backward()
        assert all(p.grad is not None and bool((p.grad != 0).any()) for p in encoder.parameters())


@pytest.mark.parametrize("sizes", [[1], [1, 2, 7, 30], [3, 12, 12]])
@pytest.mark.parametrize("whole", [True, False])
def test_batch_contract_on_real_eigenvectors_in_training_too(sizes: list[int], whole: bool) -> None:
    """Paths smaller and larger than k; a graph gets its signs by its number, not by its place in a batch."""
    encoding = LaplacianEigenvectors(10, "none", skip_first=False, with_values=True, per_component=not whole)
    graphs = []
    for n in sizes:
        path = torch.stack([torch.arange(n - 1), torch.arange(1, n)]).numpy()
        graphs.append(torch.from_numpy(encoding.compute(path, n)))
    encoder = LaplacianDeepSet(encoding.width, 16, seed=3)
    encoder.set_epoch(2)
    numbers = torch.arange(len(sizes)) + 100
    batch = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    for training in (True, False):
        encoder.train(training)
        together = encoder(torch.cat(graphs), batch, numbers).split(sizes)
        for i, pe in enumerate(graphs):
            torch.testing.assert_close(together[i], encoder(pe, graph_id=numbers[i : i + 1]), rtol=1e-5, atol=1e-6)


def test_what_is_missing_in_small_graphs_counts_nowhere() -> None:
    three = torch.from_numpy(LaplacianEigenvectors(3, "none", skip_first=False, with_values=True).compute(_path(3), 3))
    ten = torch.from_numpy(LaplacianEigenvectors(10, "none", skip_first=False, with_values=True).compute(_path(3), 3))
    encoder = LaplacianDeepSet(6, 4).eval()
    wide = LaplacianDeepSet(20, 4).eval()
    wide.load_state_dict(encoder.state_dict())
    torch.testing.assert_close(wide(ten), encoder(three))
    alone = torch.from_numpy(LaplacianEigenvectors(3, "none", skip_first=False, with_values=True).compute(_path(1), 1))
    assert encoder(alone).shape == (1, 4)
    assert bool(encoder(alone).isfinite().all())


def _path(n: int):  # type: ignore[no-untyped-def]
    return torch.stack([torch.arange(n - 1), torch.arange(1, n)]).numpy()


@given(
    st.integers(0, 2**40), st.integers(0, 1000), st.lists(st.integers(0, 10**6), min_size=1, max_size=6, unique=True)
)
def test_flips_belong_to_the_graph_not_to_its_batch(seed: int, epoch: int, numbers: list[int]) -> None:
    graph_id, batch = torch.tensor(numbers), torch.arange(len(numbers)).repeat_interleave(3)
    pe = torch.randn(len(batch), 20)
    found = flip_signs(pe, seed, epoch, graph_id, batch)
    assert torch.equal(found, flip_signs(pe, seed, epoch, graph_id, batch))
    for place, number in enumerate(numbers):
        own = batch == place
        alone = flip_signs(pe[own], seed, epoch, torch.tensor([number]))
        assert torch.equal(found[own], alone)
        assert ((alone / pe[own]) == (alone / pe[own])[0]).all()
        assert torch.equal(alone.abs(), pe[own].abs())


def test_flips_are_fair_and_change_with_every_argument() -> None:
    pe, batch = torch.ones(2000, 16), torch.arange(2000)
    found = flip_signs(pe, 0, 0, torch.arange(2000), batch)
    assert abs(float(found.mean())) < 0.02
    assert float(found.mean(0).abs().max()) < 0.1
    for other in (flip_signs(pe, 1, 0, torch.arange(2000), batch), flip_signs(pe, 0, 1, torch.arange(2000), batch)):
        assert 0.45 < float((other == found).float().mean()) < 0.55


def test_flips_of_several_graphs_need_the_batch() -> None:
    with pytest.raises(ValueError, match="batch"):
        flip_signs(torch.ones(4, 2), 0, graph_id=torch.arange(2))


def test_graphs_have_signs_of_their_own() -> None:
    encoder, pe, batch = LaplacianDeepSet(20, 8), torch.randn(6, 20).repeat(2, 1), torch.arange(12) // 6
    one, other = encoder(pe, batch, torch.tensor([7, 7])).split(6)
    assert torch.equal(one, other)
    one, other = encoder(pe, batch, torch.tensor([7, 8])).split(6)
    assert not torch.allclose(one, other)


def test_signs_change_with_the_epoch_in_training_only() -> None:
    encoder, pe = LaplacianDeepSet(20, 8), torch.randn(6, 20)
    found = []
    for epoch in (0, 1, 0):
        encoder.set_epoch(epoch)
        found.append(encoder(pe))
    assert torch.equal(found[0], found[2])
    assert not torch.allclose(found[0], found[1])
    flipped = torch.cat([flip_signs(pe[:, :10], 0, 1), pe[:, 10:]], 1)  # eigenvalues are not touched
    torch.testing.assert_close(found[1], encoder.eval()(flipped))
    before = torch.get_rng_state()
    encoder.train()(pe)
    assert torch.equal(before, torch.get_rng_state())  # nothing is drawn from a generator


def test_projection_normalises_over_the_batch_and_is_fixed_in_evaluation() -> None:
    walks = RandomWalk(4)
    pe = torch.cat([torch.from_numpy(walks.compute(_path(n), n)) for n in (1, 2, 5, 9)])
    encoder, norm = LinearEncoding(4, 6), nn.BatchNorm1d(4)
    torch.testing.assert_close(encoder(pe), encoder.linear(norm(pe)))
    encoder.eval()
    torch.testing.assert_close(encoder(pe), encoder.linear(norm.eval()(pe)))
    torch.testing.assert_close(encoder(pe)[3:8], encoder(pe[3:8]))


def test_a_batch_of_one_node_is_taken_as_in_evaluation() -> None:
    encoder = LinearEncoding(4, 6)
    one = torch.rand(1, 4)
    found = encoder(one)
    torch.testing.assert_close(found, encoder.eval()(one))
    assert encoder.train()(one[:0]).shape == (0, 6)


def test_degrees_go_through_a_linear_map() -> None:
    degree = Degree(max_degree=5)
    pe = torch.from_numpy(degree.compute(_path(4), 4))
    encoder = make_position("linear", degree.width, 3, norm=False)
    assert isinstance(encoder, LinearEncoding)
    torch.testing.assert_close(encoder(pe), encoder.linear(pe))


@pytest.mark.parametrize(
    ("make", "wanted"),
    [
        (lambda: LaplacianDeepSet(5, 4), "even number of columns, got 5"),
        (lambda: LaplacianDeepSet(4, 0), "at least 1"),
        (lambda: LaplacianDeepSet(4, 4, layers=0), "at least 1"),
        (lambda: LinearEncoding(0, 4), "at least 1"),
        (lambda: make_position("rwse", 4, 4), "encoder 'rwse' is not known. There are deepset"),  # type: ignore[arg-type]
        (lambda: LaplacianDeepSet(4, 4)(torch.zeros(3, 6)), r"eigenvectors must be \(N, 4\) .*got \(3, 6\)"),
        (lambda: LinearEncoding(4, 4)(torch.zeros(3, 6)), r"must be \(N, 4\) .*got \(3, 6\)"),
    ],
)
def test_wrong_use_is_explained(make, wanted: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=wanted):
        make()


@pytest.mark.parametrize("encoder", [LaplacianDeepSet(4, 5, post_layers=1), LinearEncoding(4, 5)])
def test_new_weights(encoder: nn.Module) -> None:
    old = [p.clone() for p in encoder.parameters() if p.dim() == 2]
    encoder.reset_parameters()  # type: ignore[operator]
    new = [p for p in encoder.parameters() if p.dim() == 2]
    assert all(not torch.equal(p, q) for p, q in zip(new, old, strict=True))
