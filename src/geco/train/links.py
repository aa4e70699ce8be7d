"""What is asked of the links of one graph: pairs to train on in an epoch, and pairs that a part is judged by.

Pairs without a link are a pure function of (seed, epoch) in training, and the same for every run in validation and
test, where they lie in the data set. Neither is ever an edge of any part.

Shapes: N nodes, L pairs, p links, C rivals of a link, Z channels of an embedding.
"""

from __future__ import annotations

import torch
from torch import Tensor

from geco.data.dataset import GraphDataset
from geco.data.nonlinks import UNDIRECTED, NonLinks
from geco.nn.network.link_heads import LinkHead
from geco.train.metrics.ranking import COLUMNS, KINDS, ranks_among

__all__ = ["RIVALS", "LinkTask", "pair_scores"]

RIVALS = 100  # nodes that a link's target is ranked among
PARTS = ("train", "valid", "test")


class LinkTask:
    """The pairs of a data set made by `geco.data.links.link_dataset`.

    Args:
        dataset: whose links.
        split: number of its split.
        seed: of the pairs without a link in training.
        device: where pairs go.
    """

    def __init__(self, dataset: GraphDataset, split: int, seed: int, device: torch.device | str = "cpu") -> None:
        ends, label = dataset.arrays["link/edge_label_index"].long(), dataset.arrays["link/edge_label"].long()
        self.seed, self.device = seed, device
        self.both = dataset.info.names == (UNDIRECTED,)
        self.none = NonLinks(ends[:, label == 1].numpy(), dataset.num_nodes, dataset.info.names[0])
        rows = dataset.split(split)
        self.parts = {part: (ends[:, getattr(rows, part)], label[getattr(rows, part)]) for part in PARTS}

    def training(self, epoch: int) -> tuple[Tensor, Tensor]:
        """Return the pairs of an epoch ``(2, L)``, as many without a link as with one, and which they are ``(L,)``;
        undirected ones in both directions.
        """
        links, label = self.parts["train"]
        ends = torch.cat([links, self.none.draw(len(label), self.seed, epoch)], 1)
        label = torch.cat([label, torch.zeros_like(label)])
        if self.both:
            ends, label = torch.cat([ends, ends.flip(0)], 1), label.repeat(2)
        return ends.to(self.device), label.to(self.device)

    def judge(self, z: Tensor, head: LinkHead, part: str) -> tuple[Tensor, Tensor]:
        """Return what the metrics of links are given for a part: ``(L, 5)`` of `COLUMNS`, and which are links ``(L,)``.

        Each link's target is ranked among `RIVALS` nodes that its source has no link with, undirected links from both
        ends, which count half each. A source with a link to every other node has no rivals: its links are first.
        """
        ends, label = self.parts[part]
        found = torch.zeros(len(label), len(COLUMNS), dtype=torch.float64)
        found[:, -1] = pair_scores(head, z, ends.to(self.device), both=self.both).cpu().double()
        links = label == 1
        sides = [ends[:, links], ends[:, links].flip(0)][: 1 + self.both]
        ranks = [self._ranks(z, head, side, (PARTS.index(part), way)) for way, side in enumerate(sides)]
        found[links, : len(KINDS)] = torch.stack(ranks).mean(0)[:, None]
        found[links, COLUMNS.index("share")] = 1.0
        return found, label

    def _ranks(self, z: Tensor, head: LinkHead, links: Tensor, seed: tuple[int, ...]) -> Tensor:
        """Return 1 / rank of each link from its source, ``(p,)``."""
        nodes, there = self.none.rivals(links[0].numpy(), RIVALS, *seed)
        own = pair_scores(head, z, links.to(self.device), both=self.both)
        pairs = torch.stack([links[0, :, None].expand_as(nodes), nodes]).flatten(1)
        others = pair_scores(head, z, pairs.to(self.device), both=self.both).view(nodes.shape)
        return ranks_among(own, others).cpu().where(there, 1.0)


def pair_scores(head: LinkHead, z: Tensor, ends: Tensor, *, both: bool) -> Tensor:
    """Return the scores of pairs ``(2, L)``; ``both`` takes the mean of both directions, so that there is none."""
    block = max(1, 2**22 // z.shape[1])  # 16 MB of embeddings at a time
    rows = []
    for some in ends.split(block, 1):
        scores = head.pairs(z, some)
        rows.append((scores + head.pairs(z, some.flip(0))) / 2 if both else scores)
    return torch.cat(rows) if rows else z.new_zeros(0)
