"""The limits that decide which algorithm computes the global context block, and in which form, all in one place.

They are constants, not timings: an algorithm chosen by a stopwatch would differ from run to run, and with it the last
bit of every result. Where a command measures a limit it is named; the others have their reason. How many rows or
columns a loop takes at a time, so that they stay in the cache, stands beside the loop.
"""

from __future__ import annotations

# Which algorithm: `geco.nn.ops.plan`.

# Nodes from which one ring goes by polynomials in blocks of rows; shorter ones are faster by FFT. Where filters have
# windows, blocks of rows take several transforms each, and an FFT of the ring takes waves and windows together.
# Measured by `python -m geco.studies.plans` (results/plans.json): at these lengths a step takes about as long either
# way, for a power of two a little longer, for a prime less.
LONG_RING, LONG_RING_OF_WINDOWS = 4096, 16_384

# Numbers that the table M of a long ring may have for each node, and besides: so it stays small beside the rows, of
# which each node has some hundred numbers. Filters with so many harmonics that M would be larger go by FFT.
TABLE_PER_NODE, TABLE_BESIDES = 8, 2**20

# Nodes up to which rings go by products with their own cosines and sines. These tables grow with the square of the
# ring and are to stay in the cache beside the rows: 2.1 MB at 1,024 nodes in float32, 34 MB at 4,096. Filters with
# windows are transformed by such products themselves, which at 1,024 nodes takes longer than a few rings. Measured by
# the same command.
SHORT_RING, SHORT_RING_OF_WINDOWS = 1024, 512

# Harmonics of the filters up to which short rings go by such products, whose work grows with them; that of FFTs does
# not.
SHORT_RING_HARMONICS = 256

# Bytes of one layer's gates and value that `memory="auto"` holds for backward: more of them means fresh pages of
# memory, which take longer than the matrix product that makes them again (docs/design-notes.md, Memory).
KEPT_BYTES = 32 * 2**20

# Which transform, where it is FFTs: `geco.nn.functional.ring_length`, `geco.nn.ops.fft_layout`.

# Prime factor of a ring's length up to which one transform of that length beats a folded one of about twice the
# length. Measured by `python -m geco.studies.lengths`.
LARGEST_DIRECT_FACTOR = 61

# Nodes from which a padded ring's length has no factors but 2, 3 and 5: there 7 and 11 cost more than the two percent
# by which such a length is longer.
LARGE_RING = 2**16

# Nodes below which rings are padded to 2^a or 3 * 2^a, so that many sizes share a transform; a larger ring fills one
# by itself.
SHARED_TRANSFORM = 1024

# Which product around the FFTs: `geco.nn.ops.fft_products`.

# Nodes up to which a projection is one product; the rows of larger ones are centred a few at a time, in the cache.
ONE_PRODUCT = 8192
