"""F1 of names equals OGB's evaluator on the words the tokens stand for."""

from __future__ import annotations

import sys

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from geco.errors import DataError, UsageError
from geco.train.metrics import METRICS
from geco.train.metrics.tokens import token_f1

sys.modules.setdefault("outdated", None)  # ogb asks the network for its newest version otherwise
WORDS, UNKNOWN, END = 4, 4, 5


def words(tokens: list[int], true: bool) -> list[str]:
    """What tokens stand for; unknown words of a true name are different words, none of which can be predicted."""
    found = []
    for place, token in enumerate(tokens):
        if token == END or token < 0:
            break
        found.append(
            f"unseen {place}" if true and token == UNKNOWN else "__UNK__" if token == UNKNOWN else f"word {token}"
        )
    return found


def ogb(prediction: Tensor, target: Tensor) -> float:
    from ogb.graphproppred import Evaluator

    names = {
        "seq_pred": [words(row, False) for row in prediction.tolist()],
        "seq_ref": [words(row, True) for row in target.tolist()],
    }
    return float(Evaluator("ogbg-code2").eval(names)["F1"])


@given(names=st.integers(1, 30), places=st.integers(1, 5), more=st.integers(0, 3), seed=st.integers(0, 10**6))
def test_equals_ogb(names: int, places: int, more: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    prediction = torch.randint(0, WORDS + 2, (names, places), generator=generator)
    target = torch.randint(0, WORDS + 2, (names, places + more), generator=generator)  # also words beyond the places
    wanted = ogb(prediction, target)
    assert token_f1(prediction, target, UNKNOWN, END) == pytest.approx(wanted, abs=1e-12)
    scores = torch.nn.functional.one_hot(prediction, WORDS + 2).float()
    assert METRICS["token-f1"].score(scores, target) == pytest.approx(
        wanted, abs=1e-12
    )  # unknown and end are the last two


def test_words_outside_the_vocabulary_may_have_numbers_of_their_own() -> None:
    prediction, target = torch.tensor([[0, UNKNOWN, END]]), torch.tensor([[0, 17, 17, 23]])  # {0, ?} and {0, 17, 23}
    assert token_f1(prediction, target, UNKNOWN, END) == pytest.approx(2 / 5)


def test_cases_worked_by_hand() -> None:
    def one(prediction: list[int], target: list[int]) -> float:
        return token_f1(torch.tensor([prediction]), torch.tensor([target]), UNKNOWN, END)

    assert one([0, 1, END], [1, 0, END]) == 1.0  # order is of no account
    assert one([0, 0, 0], [0, END, END]) == 1.0  # nor is repetition
    assert one([END, 0, 1], [0, 1, END]) == 0.0  # what comes after the end does not count
    assert one([UNKNOWN, END], [UNKNOWN, END]) == 0.0  # an unknown word is never right
    assert one([END, END], [END, END]) == 0.0  # nor is nothing
    assert one([0, UNKNOWN, UNKNOWN], [0, 1, -1]) == pytest.approx(2 / 4)


def test_rows_without_a_target_are_left_out() -> None:
    prediction, target = torch.tensor([[0, END], [1, END]]), torch.tensor([[0, END], [-1, -1]])
    assert token_f1(prediction, target, UNKNOWN, END) == 1.0


def test_nothing_to_score_is_refused() -> None:
    for target in (torch.full((2, 5), -1), torch.empty(0, 5, dtype=torch.int64)):
        with pytest.raises(DataError, match="no name to score"):
            token_f1(torch.zeros_like(target), target, UNKNOWN, END)


def test_wrong_input_is_refused() -> None:
    tokens = torch.zeros(2, 5, dtype=torch.int64)
    with pytest.raises(UsageError, match="give unknown= and end="):
        token_f1(tokens, tokens)
    for prediction, target in ((tokens[:1], tokens), (tokens.float(), tokens), (tokens, tokens[0])):
        with pytest.raises(UsageError, match="integer tokens"):
            token_f1(prediction, target, UNKNOWN, END)
