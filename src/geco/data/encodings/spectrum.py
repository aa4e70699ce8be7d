"""Eigenvectors of symmetric matrices, always the same for the same matrix: LAPACK for small ones, Lanczos for large
ones.

A connected graph's first eigenvector is known, so it is moved out of the way and only the others are searched.

Shapes: N nodes, k vectors.
"""

from __future__ import annotations

import inspect
import logging
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse import csgraph
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh, lobpcg, splu

from geco.data.encodings.base import Array

__all__ = ["DENSE", "basis", "dense_subset", "kernel", "laplacian", "largest", "noise", "nontrivial"]

logger = logging.getLogger(__name__)

DENSE = 1000  # nodes up to which a dense matrix is used
ENVELOPE = 200  # entries of a factor for each node up to which the Laplacian is factorised
RESTARTS = 100  # of Lanczos before another method takes over
STEPS = 300  # of that method before its result is taken as it is
_HAS_RNG = (
    "rng" in inspect.signature(eigsh).parameters
)  # SciPy 1.17 takes it from the system's entropy if it is not given


def kernel(adjacency: sp.csr_array, normalization: str) -> Array:
    """Return the first eigenvector of a connected graph's Laplacian, ``(N,)`` of norm one; its value is 0."""
    ones = np.ones(adjacency.shape[0])
    weight = np.sqrt(adjacency @ ones) if normalization == "sym" else ones
    norm = np.linalg.norm(weight)
    return weight / norm if norm > 0 else ones


def laplacian(adjacency: sp.csr_array, normalization: str) -> sp.csr_array:
    """Return ``I - D^-1/2 A D^-1/2`` ("sym", with 0 for nodes without edges) or ``D - A`` ("none")."""
    degree = adjacency.sum(1)
    if normalization == "none":
        return (sp.diags_array(degree) - adjacency).tocsr()
    scale = sp.diags_array(np.divide(1.0, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0))
    return (sp.diags_array((degree > 0).astype(float)) - scale @ adjacency @ scale).tocsr()


def nontrivial(adjacency: sp.csr_array, normalization: str, k: int) -> tuple[Array, Array]:
    """Return the smallest eigenvalues and vectors of a connected graph's Laplacian, without the first pair.

    Shapes: ``(m,)`` and ``(N, m)`` with ``m = min(k, N - 1)``.
    """
    nodes = adjacency.shape[0]
    k = min(k, nodes - 1)
    if k < 1:
        return np.zeros(0), np.zeros((nodes, 0))
    values, vectors = (_dense if nodes <= DENSE else _sparse)(adjacency, normalization, k)
    return np.maximum(values, 0.0), vectors


def _dense(adjacency: sp.csr_array, normalization: str, k: int) -> tuple[Array, Array]:
    """Solve with LAPACK; the first vector is moved to the upper end of the spectrum."""
    first = kernel(adjacency, normalization)
    matrix = -adjacency.toarray()
    degree = -matrix.sum(1)
    if normalization == "sym":
        scale = 1.0 / np.sqrt(degree)
        matrix *= scale[:, None]
        matrix *= scale
        degree[:] = 1.0
    matrix += (4.0 * degree.max() * first)[:, None] * first  # Gershgorin: no eigenvalue is above twice the diagonal
    matrix[np.diag_indices_from(matrix)] += degree
    return dense_subset(matrix, k)


def dense_subset(matrix: Array, k: int) -> tuple[Array, Array]:
    """Return the k smallest eigenvalues and vectors of a dense symmetric matrix, which is overwritten."""
    found = scipy.linalg.eigh(matrix.T, subset_by_index=(0, k - 1), driver="evr", overwrite_a=True, check_finite=False)
    return found[0], found[1]


def largest(matrix: sp.csr_array, k: int) -> tuple[Array, Array]:
    """Return the eigenvalues of largest modulus and vectors of a symmetric matrix, largest first, padded with zeros.

    Shapes: ``(k,)`` and ``(N, k)``.
    """
    nodes = matrix.shape[0]
    if nodes <= max(DENSE, k + 1):
        values, vectors = scipy.linalg.eigh(matrix.toarray(), check_finite=False)
    else:
        vectors, done = _lanczos(matrix, noise((nodes,), key=0), k)
        if not done:
            vectors = _iterate(matrix, np.column_stack([vectors, noise((nodes, k + 5), key=2)])[:, : k + 5])
        vectors = basis(vectors)
        values, turn = scipy.linalg.eigh(vectors.T @ (matrix @ vectors))
        vectors = vectors @ turn
    order = np.argsort(-np.abs(values), kind="stable")[:k]
    pad = k - len(order)
    return np.pad(values[order], (0, pad)), np.pad(vectors[:, order], ((0, 0), (0, pad)))


def noise(shape: tuple[int, ...], key: int) -> Array:
    """Return numbers in [-1, 1), a pure function of shape and key."""
    raw = np.random.Philox(key=key).random_raw(int(np.prod(shape))).reshape(shape)
    return (raw >> np.uint64(11)).astype(np.float64) * 2.0**-52 - 1.0


def basis(vectors: Array) -> Array:
    """Return an orthonormal basis of the columns."""
    return np.linalg.qr(vectors)[0]


def _sparse(adjacency: sp.csr_array, normalization: str, k: int) -> tuple[Array, Array]:
    """Search the smallest pairs of a large Laplacian beside the first vector.

    Where an ordering keeps the factor small (trees, rings, molecules, roads) Lanczos works on the inverse. Otherwise it
    works on ``bound - L``: graphs that do not factorise well are well connected, and there it converges. Where hubs
    spread the spectrum so that it does not, LOBPCG goes on, preconditioned by the degrees.
    """
    matrix, first = laplacian(adjacency, normalization), kernel(adjacency, normalization)
    bound = 2.0 * float(matrix.diagonal().max())  # Gershgorin: no eigenvalue is larger

    def project(v: Array) -> Array:
        found: Array = v - np.multiply.outer(first, first @ v)
        return found

    step = _factor(matrix, 1e-9 * bound) or (lambda v: bound * v - matrix @ v)
    operator = LinearOperator(matrix.shape, lambda v: project(step(project(v))), dtype=np.float64)
    vectors, done = _lanczos(operator, project(noise((len(first),), key=0)), k)
    if not done:
        vectors = _lobpcg(matrix, first, np.column_stack([vectors, noise((len(first), k + 5), key=2)])[:, : k + 5])
    vectors = basis(project(vectors))
    values, turn = scipy.linalg.eigh(vectors.T @ (matrix @ vectors))
    values, vectors = values[:k], vectors @ turn[:, :k]
    residual = np.linalg.norm(matrix @ vectors - vectors * values, axis=0).max() / values.max()
    if residual > 1e-2:
        logger.warning(
            f"eigenvectors of {len(first):,} nodes are approximate: residual {residual:.0e} of the eigenvalue"
        )
    return values, vectors


def _factor(matrix: sp.csr_array, shift: float) -> Callable[[Array], Array] | None:
    """Return a solver of ``(L + shift) x = b``, or None if the factor may be large; its size is known before it is
    made.
    """
    order = csgraph.reverse_cuthill_mckee(matrix, symmetric_mode=True)
    banded = matrix[order][:, order].tocsr()
    banded.sort_indices()
    envelope = np.arange(len(order)) - banded.indices[banded.indptr[:-1]]  # the diagonal is there, so no row is empty
    if int(np.maximum(envelope, 0).sum()) > ENVELOPE * len(order):
        return None
    shifted = (banded + shift * sp.eye_array(len(order))).tocsc()
    factor = splu(shifted, permc_spec="NATURAL", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    back = np.argsort(order)
    return lambda b: factor.solve(np.ascontiguousarray(b[order]))[back]


def _lanczos(operator: Any, start: Array, k: int) -> tuple[Array, bool]:
    """Return eigenvectors of largest modulus, and whether all k converged.

    Lanczos may miss copies of an eigenvalue that occurs several times, so one more is searched beside those found until
    it is no larger than they are.
    """
    vectors, done = _arpack(operator, start, k, tol=1e-10)
    for _ in range(k if done and k < len(start) - 2 else 0):
        more, found = _beside(operator, vectors)
        if not found:
            break
        joint = basis(np.column_stack([vectors, more]))
        values, turn = scipy.linalg.eigh(joint.T @ (operator @ joint))
        size = np.sort(np.abs(values))
        least = np.abs(np.einsum("nk,nk->k", vectors, operator @ vectors)).min()
        if size[1] <= least * (1 + 1e-9):
            break
        vectors = joint @ turn[:, np.argsort(-np.abs(values), kind="stable")[:k]]
    return vectors, done


def _beside(operator: Any, vectors: Array) -> tuple[Array, bool]:
    """Return the eigenvector of largest modulus orthogonal to those given."""

    def project(v: Array) -> Array:
        found: Array = v - vectors @ (vectors.T @ v)
        return found

    rest = LinearOperator(operator.shape, lambda v: project(operator @ project(v)), dtype=np.float64)
    return _arpack(rest, project(operator @ noise((len(vectors),), key=3)), 1, tol=1e-6)


def _arpack(operator: Any, start: Array, k: int, tol: float) -> tuple[Array, bool]:
    extra = {"rng": np.random.Generator(np.random.Philox(key=1))} if _HAS_RNG else {}
    try:
        return eigsh(operator, k, v0=start, ncv=min(len(start), max(4 * k, 40)), maxiter=RESTARTS, tol=tol, **extra)[
            1
        ], True
    except ArpackNoConvergence as stopped:
        return stopped.eigenvectors, False


def _lobpcg(matrix: sp.csr_array, first: Array, vectors: Array) -> Array:
    scale = sp.diags_array(1.0 / matrix.diagonal())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that it stops early; the caller looks at the residual
        found: Array = lobpcg(matrix, vectors, M=scale, Y=first[:, None], largest=False, tol=1e-6, maxiter=STEPS)[1]
    return found


def _iterate(matrix: sp.csr_array, vectors: Array) -> Array:
    """Turn vectors towards the eigenvectors of largest modulus."""
    for _ in range(STEPS):
        vectors = matrix @ basis(vectors)
    return vectors
