"""How the global block should start, tried on real graphs: python examples/initial_gain.py --data-dir DIR [--graph
NAME].

Trains the net of amazon_photo.py from three starts and prints test accuracy: as shipped (inner gates and value start
near one, the last gate near zero), all gates and the value near zero, and all near one.
"""

import argparse
import os
from pathlib import Path

import numpy as np
import torch
from amazon_photo import Net, load, run


class Zeros(Net):
    """Gates and value of zero mean, as a plain linear map would give them."""

    bias = 0.0

    def __init__(self, channels: int, classes: int) -> None:
        super().__init__(channels, classes)
        for layer in self.layers:
            torch.nn.init.constant_(layer.conv.context.projection.bias, self.bias)


class Ones(Zeros):
    """All gates and the value near one: the block passes a constant at first."""

    bias = 1.0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("GECO_DATA", "."))
    parser.add_argument("--graph", default="amazon-photo", choices=["amazon-photo", "amazon-computers", "coauthor-cs"])
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    data = load(Path(args.data_dir) / args.graph)
    for name, net in (("as shipped", Net), ("zeros", Zeros), ("ones", Ones)):
        scores = [run(seed, args.epochs, data, net) for seed in range(args.seeds)]
        print(
            f"{args.graph}, {args.epochs} epochs, {name}: test {np.mean(scores):.2f} ± {np.std(scores, ddof=1):.2f} %",
            flush=True,
        )
