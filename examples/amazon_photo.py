"""Amazon-photo with two GECO layers, three seeds: python examples/amazon_photo.py [DIR] (default: GECO_DATA)."""

import os
import sys
from pathlib import Path

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor, nn
from torch.nn import functional as F

from geco.nn import GECOLayer


def load(folder: Path) -> tuple[Tensor, Tensor, Tensor, dict[str, Tensor]]:
    raw, split = np.load(folder / "graph.npz"), np.load(folder / "split.npz")
    x = csr_matrix((raw["attr_data"], raw["attr_indices"], raw["attr_indptr"]), raw["attr_shape"]).toarray()
    adj = csr_matrix((raw["adj_data"], raw["adj_indices"], raw["adj_indptr"]), raw["adj_shape"])
    edges = torch.tensor(np.stack((adj + adj.T).nonzero()), dtype=torch.long)  # both ways
    return (
        torch.tensor(x).float(),
        edges,
        torch.tensor(raw["labels"]).long(),
        {k: torch.tensor(split[k]) for k in split},
    )


class Net(nn.Module):
    def __init__(self, channels: int, classes: int, width: int = 64, dropout: float = 0.5) -> None:
        super().__init__()
        self.encoder, self.head, self.dropout = nn.Linear(channels, width), nn.Linear(width, classes), dropout
        self.layers = nn.ModuleList(GECOLayer(width, dropout=dropout) for _ in range(2))

    def forward(self, x: Tensor, edges: Tensor, order: Tensor) -> Tensor:
        x = F.dropout(self.encoder(x), self.dropout, self.training)
        for layer in self.layers:
            x = layer(x, edges, permutation=order)
        return self.head(x)


def run(
    seed: int, epochs: int, data: tuple[Tensor, Tensor, Tensor, dict[str, Tensor]], net: type[nn.Module] = Net
) -> float:
    torch.manual_seed(seed)
    (x, edges, y, split), best, test = data, 0.0, 0.0
    model, order = (
        net(x.shape[1], int(y.max()) + 1),
        torch.randperm(len(x)),
    )  # the file's own order could leak the classes
    optimiser = torch.optim.AdamW(
        model.parameters(), lr=1e-2, weight_decay=5e-3
    )  # as in src/geco/configs/amazon-photo.toml
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, epochs)
    for _ in range(epochs):
        optimiser.zero_grad()
        F.cross_entropy(model.train()(x, edges, order)[split["train"]], y[split["train"]]).backward()
        optimiser.step()
        schedule.step()
        with torch.no_grad():
            right = (model.eval()(x, edges, order).argmax(1) == y).float()
        if (valid := right[split["valid"]].mean().item()) > best:  # test at the best validation epoch
            best, test = valid, right[split["test"]].mean().item()
    print(f"seed {seed}: validation {100 * best:.2f} %, test {100 * test:.2f} %", flush=True)
    return 100 * test


if __name__ == "__main__":
    photo = load(Path((sys.argv[1:] or [os.environ.get("GECO_DATA", ".")])[0]) / "amazon-photo")
    scores = [run(seed, 120, photo) for seed in range(3)]
    print(
        f"amazon-photo test accuracy: {np.mean(scores):.2f} ± {np.std(scores, ddof=1):.2f} % over {len(scores)} seeds"
    )
