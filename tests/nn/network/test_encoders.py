from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from geco.data.molecules import ATOM_CATEGORIES, BOND_CATEGORIES
from geco.nn.network.encoders import Categories, Constant, Features, make_encoder

AST = (98, 10_030, 21)


def draw(counts: tuple[int, ...], rows: int, dtype: torch.dtype = torch.int64) -> Tensor:
    return torch.stack([torch.randint(0, count, (rows,)) for count in counts], 1).to(dtype)


def one_by_one(encoder: Categories, x: Tensor) -> Tensor:
    """The twin: a table for each column, a loop over columns."""
    tables = encoder.weight.split(encoder.counts.tolist())
    return torch.stack([table[x[:, column].long()] for column, table in enumerate(tables)]).sum(0)


@given(
    counts=st.lists(st.integers(1, 130), min_size=1, max_size=9), rows=st.integers(0, 30), channels=st.integers(1, 9)
)
@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.int32, torch.int64])
def test_categories_equal_a_loop_over_columns(dtype: torch.dtype, counts: list[int], rows: int, channels: int) -> None:
    encoder = Categories(counts, channels).double()
    x = draw(tuple(counts), rows, torch.int64).to(dtype)
    found, wanted = encoder(x), one_by_one(encoder, x)
    assert found.shape == (rows, channels)
    torch.testing.assert_close(found, wanted)
    other = torch.randn_like(found)
    (mine,), (theirs,) = (torch.autograd.grad((out * other).sum(), [encoder.weight]) for out in (found, wanted))
    torch.testing.assert_close(mine, theirs)


def test_more_combinations_than_a_number_can_count() -> None:
    encoder, x = Categories((1000,) * 8, 4).double(), draw((1000,) * 8, 20)
    assert encoder.radix is None
    torch.testing.assert_close(encoder(x), one_by_one(encoder, x))


@pytest.mark.parametrize("counts", [ATOM_CATEGORIES, BOND_CATEGORIES, AST, (2, 2)])
def test_every_table_learns_and_starts_by_its_own_size(counts: tuple[int, ...]) -> None:
    encoder = Categories(counts, 32)
    assert encoder.weight.shape == (sum(counts), 32)
    for count, table in zip(counts, encoder.weight.split(counts), strict=True):
        bound = math.sqrt(6 / (count + 32))
        assert bound / 2 < float(table.detach().abs().max()) <= bound
    x = torch.stack([torch.arange(max(counts)).clamp(max=count - 1) for count in counts], 1)  # every category occurs
    encoder(x).square().sum().backward()
    assert encoder.weight.grad is not None
    assert bool((encoder.weight.grad != 0).any(1).all())
    assert 0.9 < float(Categories(AST, 32, init="normal").weight.detach().std()) < 1.1


def test_the_input_stays_as_it_is_and_larger_depths_count_as_the_last() -> None:
    encoder = Categories(AST, 4, clipped=[2])
    x = torch.tensor([[97, 10_029, 20], [97, 10_029, 21], [97, 10_029, 5_000], [97, 10_029, 19]], dtype=torch.int16)
    kept = x.clone()
    found = encoder(x)
    assert torch.equal(x, kept)
    assert torch.equal(found[1:3], found[[0, 0]])
    assert not torch.equal(found[3], found[0])
    assert encoder(draw((98, 255, 21), 3, torch.uint8)).shape == (3, 4)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int64])
def test_an_unknown_category_is_refused_by_its_column(dtype: torch.dtype) -> None:
    encoder = Categories(ATOM_CATEGORIES, 4)
    x = draw(ATOM_CATEGORIES, 5, dtype)
    encoder(x)
    x[3, 1] = 5
    with pytest.raises(ValueError, match="column 1 of x has category 5, the model knows 5, from 0"):
        encoder(x)
    with pytest.raises(ValueError, match="column 2 of edge_attr has category -1"):
        Categories(BOND_CATEGORIES, 4, name="edge_attr")(torch.tensor([[0, 0, 0], [0, 0, -1]]))


@pytest.mark.parametrize(
    "x", [torch.zeros(3, 2), torch.zeros(3, 3, dtype=torch.int64), torch.zeros(2, dtype=torch.int64)]
)
def test_categories_of_another_form_are_refused(x: Tensor) -> None:
    with pytest.raises(ValueError, match=r"x must be integers \(N, 2\), got"):
        Categories((5, 5), 4)(x)


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({"counts": ()}, "must be at least 1"),
        ({"counts": (3, 0)}, "must be at least 1"),
        ({"channels": 0}, "must be at least 1"),
        ({"init": "zeros"}, "init 'zeros' is not known. There are xavier, normal"),
        ({"clipped": (2,)}, r"clipped names columns \[2\], x has 0 to 1"),
    ],
)
def test_wrong_options_of_categories(options: dict[str, object], wanted: str) -> None:
    with pytest.raises(ValueError, match=wanted):
        Categories(**{"counts": (3, 4), "channels": 2, **options})  # type: ignore[arg-type]


@pytest.mark.parametrize("columns", [14, 2, 7])
def test_features_are_standardised_by_the_training_rows(columns: int) -> None:
    x = torch.randn(1000, columns) * torch.logspace(0, 3, columns) + torch.linspace(-500, 500, columns)
    x[:, -1] = 0.1  # constant
    encoder = Features(columns, 4, standardise=True)
    with pytest.raises(ValueError, match="not known yet; call fit with the training rows"):
        encoder(x)
    encoder.fit([x[:7], x[7:7], x[7:900], x[900:]])
    wanted = (x.double() - x.double().mean(0)) / x.double().std(0, correction=0)
    wanted[:, -1] = 0.0
    wanted = nn.functional.linear(wanted.float(), encoder.linear.weight, encoder.linear.bias)
    torch.testing.assert_close(encoder(x), wanted, rtol=1e-3, atol=1e-3)
    again = Features(columns, 4, standardise=True)
    again.load_state_dict(encoder.state_dict())
    assert torch.equal(again(x), encoder(x))
    assert float(encoder.std[-1]) == 1.0


def test_features_without_standardising_are_a_linear_map() -> None:
    encoder, x = Features(14, 4), torch.randn(5, 14)
    assert torch.equal(encoder(x), encoder.linear(x))
    assert list(encoder.state_dict()) == ["linear.weight", "linear.bias"]
    assert Features(1, 4)(torch.randn(5)).shape == (5, 4)  # such as weights of edges
    assert encoder(x[:0]).shape == (0, 4)
    with pytest.raises(ValueError, match="does not standardise"):
        encoder.fit([x])


@pytest.mark.parametrize("blocks", [[], [torch.zeros(0, 2)], [torch.tensor([[1.0, math.nan]])]])
def test_fit_needs_finite_rows(blocks: list[Tensor]) -> None:
    with pytest.raises(ValueError, match="need rows of finite numbers"):
        Features(2, 4, standardise=True).fit(blocks)


def test_features_of_another_width_are_refused() -> None:
    with pytest.raises(ValueError, match=r"edge_attr must be numbers \(N, 2\), got torch.float32 \(5, 3\)"):
        Features(2, 4, name="edge_attr")(torch.zeros(5, 3))
    with pytest.raises(ValueError, match="must be at least 1"):
        Features(0, 4)


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_one_vector_for_all(rows: int) -> None:
    encoder = Constant(4)
    found = encoder(torch.zeros(rows, 3))
    assert torch.equal(found, encoder.weight.repeat(rows, 1))
    found.sum().backward()
    assert encoder.weight.grad is not None
    assert encoder.weight.grad.tolist() == [[float(rows)] * 4]


def test_made_by_what_there_is() -> None:
    assert isinstance(make_encoder(4, 14), Features)
    assert isinstance(make_encoder(4, 1, (1,)), Constant)  # the nodes of ogbg-ppa
    assert isinstance(make_encoder(4), Constant)
    made = make_encoder(4, 3, AST, init="normal", clipped=(2,), name="y")
    assert isinstance(made, Categories)
    assert (made.init, made.clipped, made.name) == ("normal", [2], "y")
    for wrong, message in (
        ({"categories": (3,), "standardise": True}, "no real numbers"),
        ({"standardise": True}, "no real"),
    ):
        with pytest.raises(ValueError, match=message):
            make_encoder(4, len(wrong.get("categories", ())), **wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="x has 2 columns, but 3 numbers of categories"):
        make_encoder(4, 2, (3, 3, 3))


@pytest.mark.parametrize("encoder", [Categories((3, 4), 5), Features(2, 5), Constant(5)])
def test_new_weights(encoder: nn.Module) -> None:
    old = [p.clone() for p in encoder.parameters()]
    encoder.reset_parameters()  # type: ignore[operator]
    assert all(not torch.equal(p, q) for p, q in zip(encoder.parameters(), old, strict=True))
