"""What is put together to a data set is checked, and kept small."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from geco.data.collate import check, collect, narrowed, with_splits
from geco.data.dataset import GraphDataset, Info, Split
from geco.errors import DataError
from tests.data.graphs import GRAPH, same, small


def change(key: str, value: Tensor) -> GraphDataset:
    dataset = small()
    return replace(dataset, arrays={**dataset.arrays, key: value})


def test_check_refuses_unsound_data() -> None:
    good = small()
    assert check(good) is good
    ends = good.arrays["edge/edge_index"]
    for bad in (ends.short() - 5, ends + 4):  # node 4 of a graph of 4, below 0
        with pytest.raises(DataError, match=r"edge_index has .* nodes outside their graph"):
            check(change("edge/edge_index", bad))
    with pytest.raises(DataError, match="node/x has 19 rows, its graphs have 20"):
        check(change("node/x", good.arrays["node/x"][:-1]))
    with pytest.raises(DataError, match=r"edge/edge_index has .* rows"):
        check(change("edge/edge_index", ends[:, 1:]))
    with pytest.raises(DataError, match="graph/y has 4 rows, its graphs have 5"):
        check(change("graph/y", good.arrays["graph/y"][:-1]))
    with pytest.raises(DataError, match="level 'nodes' or target"):
        check(replace(good, info=replace(GRAPH, level="nodes")))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("train", "valid", "test", "message"),
    [
        ([0, 1], [1], [2], "split 1 has graphs in more than one part"),
        ([0, 0], [1], [2], "split 1 has graphs in more than one part, or twice"),
        ([0, 1], [2], [5], "split 1 names graphs outside 0 to 4"),
        ([-1, 1], [2], [3], "split 1 names graphs outside 0 to 4"),
    ],
)
def test_check_refuses_bad_splits(train: list[int], valid: list[int], test: list[int], message: str) -> None:
    good = small().split()
    bad = Split(torch.tensor(train), torch.tensor(valid), torch.tensor(test))
    with pytest.raises(DataError, match=message):
        check(with_splits(small(), [good, bad]))


def test_splits_come_back_as_given() -> None:
    splits = [Split(*torch.randperm(5).split([2, 2, 1])) for _ in range(12)]
    dataset = with_splits(small(), splits)
    assert dataset.num_splits == 12
    for number, split in enumerate(splits):
        assert all(
            same(getattr(dataset.split(number), part), getattr(split, part)) for part in ("train", "valid", "test")
        )
    with pytest.raises(DataError, match="some has splits 0 to 11, split 12 was asked for"):
        dataset.split(12)


@pytest.mark.parametrize(
    ("low", "high", "dtype"),
    [
        (0, 255, torch.uint8),
        (0, 256, torch.int16),
        (-1, 5, torch.int16),
        (-32768, 32767, torch.int16),
        (0, 32768, torch.int32),
        (-32769, 0, torch.int32),
        (0, 2**31, torch.int64),
    ],
)
def test_integers_rest_in_the_smallest_type(low: int, high: int, dtype: torch.dtype) -> None:
    found = narrowed(torch.tensor([low, high]))
    assert found.dtype == dtype
    assert found.tolist() == [low, high]


def test_other_types_rest_as_they_are() -> None:
    assert narrowed(torch.ones(2, dtype=torch.float64)).dtype == torch.float32
    assert narrowed(torch.ones(2, dtype=torch.float16)).dtype == torch.float16
    assert narrowed(torch.ones(2, dtype=torch.bool)).dtype == torch.bool
    assert narrowed(torch.empty(0, dtype=torch.int64)).numel() == 0
    assert small().arrays["edge/edge_index"].dtype == torch.uint8


def test_graph_of_unknown_size_is_refused() -> None:
    with pytest.raises(DataError, match="num_nodes"):
        collect(GRAPH, [{"edge_index": torch.tensor([[0], [0]]), "y": torch.zeros(1, 2)}])


def test_check_refuses_labels_out_of_range() -> None:
    info = Info("one", "node", "class", 2, "accuracy")
    graph = {"x": torch.ones(3, 1), "edge_index": torch.empty(2, 0, dtype=torch.int64), "y": torch.tensor([0, 2, 1])}
    with pytest.raises(DataError, match="class"):
        collect(info, [graph])
