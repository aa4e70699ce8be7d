from __future__ import annotations

import pytest
import torch

from geco.errors import UsageError
from geco.explain.question import ask, repeated
from geco.names import BASELINES
from tests.explain.networks import Shift, info, network, path, random_graph

CLASSES = info("class", count=3)
BODIES = [("geco", {"options": {"permutation": "static"}}), ("geco", {"options": {"permutation": "dynamic"}}),
          ("geco", {"options": {"permutation": "structure"}}), ("hybrid", {}), ("hybrid", {"diffusion": 2}),
          *((name, {}) for name in BASELINES)]  # fmt: skip


@pytest.mark.parametrize(("body", "options"), BODIES)
def test_copies_give_what_the_graph_gives_alone(body: str, options: dict[str, object]) -> None:
    net, data = network(body, **options), random_graph()
    question = ask(net, CLASSES, data, node=4)
    changed = question.features.flip(0)
    with torch.no_grad():
        alone = [net(data, x)[4] for x in (question.features, changed, question.features)]
        together = question.outputs(torch.stack([question.features, changed, question.features]))
    torch.testing.assert_close(together, torch.stack(alone), rtol=1e-3, atol=1e-4)
    assert torch.allclose(net(data)[4], alone[0])


def test_networks_that_mix_a_batch_are_given_one_copy_at_a_time() -> None:
    class Mixing(Shift):
        def forward(self, data, features=None):  # type: ignore[no-untyped-def]
            return super().forward(data, features) + (0 if features is None else features.sum())

    question = ask(Mixing(1), info(), path(5), node=3)  # type: ignore[arg-type]
    assert not question.together
    once = question.outputs(question.features[None])
    assert torch.equal(question.outputs(torch.stack([question.features] * 3)), once.expand(3, -1))
    assert ask(Shift(1), info(), path(5), node=3).together  # type: ignore[arg-type]


def test_graph_numbers_and_weights_go_with_the_copies() -> None:
    data = random_graph()
    data.graph_id, data.edge_weight = torch.tensor([7]), torch.rand(data.edge_index.shape[1])
    data.place = torch.randperm(12)
    batch = repeated(data, 2, 12)
    assert batch.graph_id.tolist() == [7, 7]
    assert torch.equal(batch.edge_weight, torch.cat([data.edge_weight] * 2))
    assert torch.equal(batch.place, torch.cat([data.place] * 2))
    kept = torch.ones(2, data.edge_index.shape[1], dtype=torch.bool)
    kept[1, 3] = False
    fewer = repeated(data, 2, 12, kept)
    assert torch.equal(fewer.edge_weight, batch.edge_weight[kept.flatten()])
    assert torch.equal(fewer.edge_index, batch.edge_index[:, kept.flatten()])


def test_evidence_is_the_log_odds_of_the_class() -> None:
    question = ask(network("gcn"), CLASSES, random_graph(), node=0, target=2)
    outputs = torch.randn(5, 3)
    p = outputs.softmax(1)[:, 2]
    torch.testing.assert_close(question.value(question.evidence(outputs)), p)
    torch.testing.assert_close(question.evidence(outputs), (p / (1 - p)).log())


def test_the_target_is_the_predicted_class() -> None:
    net, data = network("gcn"), random_graph()
    assert ask(net, CLASSES, data, node=5).target == int(net(data)[5].argmax())


@pytest.mark.parametrize(
    ("about", "node", "words"),
    [
        (info("class", level="link"), 0, "links between pairs of nodes"),
        (info("tokens", level="graph"), None, "sequence of tokens"),
        (info("class", level="graph"), 3, "leave it out"),
        (info("class"), None, "say which node"),
    ],
)
def test_what_cannot_be_explained_is_refused(about, node, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UsageError, match=words):
        ask(Shift(1), about, path(4), node)  # type: ignore[arg-type]
