"""Node encodings, as PyG transforms and, computed once for a whole data set, by `encode`."""

from geco.data.encodings.base import Encoding
from geco.data.encodings.degree import Degree
from geco.data.encodings.encode import encode
from geco.data.encodings.laplacian import LaplacianEigenvectors
from geco.data.encodings.random_walk import RandomWalk
from geco.data.encodings.relative import AdjacencySVD, Relative

__all__ = ["AdjacencySVD", "Degree", "Encoding", "LaplacianEigenvectors", "RandomWalk", "Relative", "encode"]
