"""Where a folded transform of a fast length >= 2N - 1 beats one of length N: ``python -m geco.studies.lengths``.

`geco.nn.ops.limits.LARGEST_DIRECT_FACTOR` is read off this table: ratios above 1 say that folding is faster.
"""

from __future__ import annotations

import torch

from geco.console import print_table
from geco.nn.functional import fast_length
from geco.studies.measure import best_of

PRIMES = [13, 17, 31, 61, 127, 251, 509, 1021, 4093]
GRAPHS = {"Flickr": 89250, "ogbn-arxiv": 169343, "Reddit": 232965, "Yelp": 716847}


def ratio(n: int, channels: int = 8) -> float:
    """Return the time of a transform and its inverse at N over that at a fast length >= 2N - 1, folded back."""
    v, length = torch.randn(channels, n), fast_length(2 * n - 1)

    def folded() -> None:
        y = torch.fft.irfft(torch.fft.rfft(v, n=length), n=length)
        y[:, : n - 1] += y[:, n : 2 * n - 1]

    return best_of(lambda: torch.fft.irfft(torch.fft.rfft(v), n=n), 5) / best_of(folded, 5)


def main() -> None:
    """Run the study from the command line."""
    rows = [["largest factor", "N", "direct / folded"]]
    rows += [[str(p), str(p * m), f"{ratio(p * m):.2f}"] for p in PRIMES for m in (64, 1024)]
    rows += [[name, str(n), f"{ratio(n):.2f}"] for name, n in GRAPHS.items()]
    print_table(rows)


if __name__ == "__main__":
    main()
