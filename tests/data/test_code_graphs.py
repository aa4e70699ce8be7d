from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from geco.data.code_graphs import END, UNKNOWN, encode, tree_edges, vocabulary

WORDS = st.lists(st.sampled_from(["get", "set", "name", "id", "to", "x"]), min_size=1, max_size=7)


@st.composite
def forests(draw: st.DrawFn) -> list[tuple[list[int], list[bool]]]:
    """Trees as parents of their nodes (the first has none), and which nodes have an attribute."""
    trees = []
    for _ in range(draw(st.integers(1, 5))):
        size = draw(st.integers(1, 8))
        parents = [-1, *(draw(st.integers(0, i - 1)) for i in range(1, size))]
        trees.append((parents, [draw(st.booleans()) for _ in range(size)]))
    return trees


@given(forests())
def test_edges_are_those_of_each_tree_alone(forest: list[tuple[list[int], list[bool]]]) -> None:
    nodes = np.array([len(parents) for parents, _ in forest])
    owner = np.repeat(np.arange(len(forest)), nodes - 1)
    tree = np.array([(p, i) for parents, _ in forest for i, p in enumerate(parents) if p >= 0], np.int32).reshape(-1, 2)
    tokens = np.flatnonzero([flag for _, flags in forest for flag in flags])
    edge_index, edge_attr, edges = tree_edges(nodes, owner, tree, tokens)
    wanted = []
    for parents, flags in forest:
        down = [(p, i) for i, p in enumerate(parents) if p >= 0]
        text = [i for i, flag in enumerate(flags) if flag]
        after = list(itertools.pairwise(text))
        for kind, pairs in ((0, down), (1, after)):
            wanted += [(*pair, kind, 0) for pair in pairs] + [(b, a, kind, 1) for a, b in pairs]
    assert [(*ends, *kind) for ends, kind in zip(edge_index.T.tolist(), edge_attr.tolist(), strict=True)] == wanted
    assert edges.sum() == len(wanted)
    assert len(edges) == len(forest)


def test_a_vocabulary_has_the_frequent_words_first_met_first() -> None:
    names = [["b", "a"], ["a", "c"], ["d", "b"], ["e"]]
    assert vocabulary(names, 3) == ("b", "a", "c", UNKNOWN, END)
    assert vocabulary([], 3) == (UNKNOWN, END)


@given(st.lists(WORDS, max_size=6), st.lists(WORDS, max_size=6), st.integers(0, 4))
def test_encoded_names_can_be_read_again(train: list[list[str]], test: list[list[str]], size: int) -> None:
    words = vocabulary(train, size)
    y, whole = encode(train + test, words, 5)
    assert y.shape == (len(train) + len(test), 5)
    for row, full, name in zip(y, whole, train + test, strict=True):
        wanted = [word if word in words else UNKNOWN for word in name[:5]] + [END] * (5 - len(name))
        assert [words[i] for i in row] == wanted
        numbers = full[full >= 0].tolist()
        assert [words[i] if i < len(words) else None for i in numbers] == [
            word if word in words else None for word in name
        ]
        assert len(set(numbers)) == len(set(name))  # words outside the vocabulary differ from each other
