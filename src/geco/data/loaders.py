"""Batches for training. Their order is a pure function of (seed, epoch), so resumed runs and several processes agree.

Both loaders are used alike: ``for batch in loader.epoch(e)``, ``len(loader)`` of them.
"""

from __future__ import annotations

import signal
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset
from torch_geometric.data import Batch, Data

from geco.data.dataset import GraphDataset
from geco.errors import DataError, ResourceError, UsageError
from geco.machine import STOPS
from geco.nn.graph.permutation import shuffled
from geco.nn.graph.rings import Rings

__all__ = ["FullGraphLoader", "GraphLoader"]

WINDOW = 16  # batches whose graphs are sorted by size together: enough to find alike ones, few enough to stay random


class GraphLoader:
    """Several graphs at a time.

    Args:
        dataset: the graphs.
        indices: numbers of those to go through, such as ``dataset.split().train``.
        batch_size: graphs in a batch.
        seed: of the order.
        shuffle: a new order each epoch; without it, the order of `indices`.
        group_by_size: put graphs of similar size together. Batches still come in random order and hold other graphs
            each epoch.
        drop_last: leave out what does not fill a batch, other graphs each epoch.
        workers: processes that make batches ahead of time, kept from epoch to epoch; 0 makes them here. Batches are the
            same.
        share: what is made here of the batches of an epoch, all of them if not given.

    Example:
        >>> from geco.data.embedded.synthetic import erdos_renyi
        >>> loader = GraphLoader(erdos_renyi(5, degree=2, graphs=10), range(10), batch_size=4)
        >>> [batch.num_graphs for batch in loader.epoch(0)]
        [4, 4, 2]
    """

    def __init__(
        self,
        dataset: GraphDataset,
        indices: Sequence[int] | Tensor,
        batch_size: int,
        seed: int = 0,
        shuffle: bool = True,
        group_by_size: bool = False,
        drop_last: bool = False,
        workers: int = 0,
        share: Callable[[list[Tensor]], list[Tensor]] = list,
    ) -> None:
        if batch_size < 1 or workers < 0:
            raise UsageError(f"batch_size must be positive and workers not negative, got {batch_size} and {workers}")
        self.dataset, self.indices = dataset, _checked(indices, dataset)
        self.batch_size, self.seed, self.workers = batch_size, seed, workers
        self.shuffle, self.group_by_size, self.drop_last = shuffle, group_by_size, drop_last
        self.share = share
        self._plan: list[Tensor] = []
        self._run = 0  # number of the newest iteration

    def __len__(self) -> int:
        """Return the number of batches in an epoch."""
        full, rest = divmod(len(self.indices), self.batch_size)
        return full + (rest > 0 and not self.drop_last)

    def batches(self, epoch: int) -> list[Tensor]:
        """Return the numbers of the graphs in each batch of an epoch."""
        chosen = self.indices
        if self.shuffle:
            chosen = chosen[_order(len(chosen), self.seed, epoch, 0)]
        chosen = chosen[: len(self) * self.batch_size]
        if not self.group_by_size:
            return list(chosen.split(self.batch_size)) if len(self) else []
        sizes = self.dataset.sizes[chosen]
        window = torch.arange(len(chosen)) // (WINDOW * self.batch_size)
        by_size = torch.argsort(sizes, stable=True)
        batches = chosen[by_size[torch.argsort(window[by_size], stable=True)]].split(self.batch_size)
        order = _order(len(self), self.seed, epoch, 1) if self.shuffle else torch.arange(len(self))
        return [batches[i] for i in order.tolist()]

    def shared(self, epoch: int) -> list[Tensor]:
        """Return the numbers of the graphs in each batch that is made here."""
        return self.share(self.batches(epoch))

    def epoch(self, epoch: int = 0, start: int = 0) -> Iterator[Batch]:
        """Go through an epoch.

        Args:
            epoch: its number.
            start: number of batches to skip, to go on in the middle.
        """
        self._run += 1
        run = self._run
        plan = self.shared(epoch)[start:]
        if not self.workers:
            yield from map(self.dataset.batch, plan)
            return
        self._plan[:] = plan
        try:
            with _held_signals():  # processes start with the first epoch
                loading = iter(self._loader)
            for batch in loading:
                yield batch
                if run != self._run:  # the processes now work for the other one
                    raise UsageError(
                        "a loader with workers was closed in an epoch or used for two at once; make a second one"
                    )
        except (RuntimeError, ConnectionError, EOFError) as error:
            if isinstance(error, RuntimeError) and "DataLoader worker" not in str(error):
                raise
            why = (
                f"a process that makes batches died, often of too little memory; use fewer than {self.workers} workers"
            )
            raise ResourceError(f"{why} ({error})") from error

    def close(self) -> None:
        """End the worker processes; the next epoch starts new ones. They also end with this object and with the
        program.
        """
        if "_loader" in self.__dict__:
            self._run += 1
            self._end()
            del self._loader

    @cached_property
    def _loader(self) -> DataLoader[Batch]:
        loader = DataLoader(
            _Batches(self.dataset),
            batch_size=None,  # an item is a batch already
            sampler=_Plan(self._plan),
            num_workers=self.workers,
            persistent_workers=True,
            collate_fn=_as_is,
            generator=torch.Generator(),  # so that the global one, and dropout with it, does not depend on `workers`
        )
        self._end = weakref.finalize(self, _end_workers, loader)
        return loader


class FullGraphLoader:
    """The one graph of a data set, whole, with ``train_mask``, ``val_mask`` and ``test_mask`` of its nodes.

    Args:
        dataset: of one graph.
        split: number of the split.

    Example:
        >>> from geco.data.embedded.synthetic import erdos_renyi
        >>> [int(graph.train_mask.sum()) for graph in FullGraphLoader(erdos_renyi(10, degree=2)).epoch(0)]
        [6]
    """

    def __init__(self, dataset: GraphDataset, split: int = 0) -> None:
        if len(dataset) != 1:
            raise DataError(f"{dataset.info.name} has {len(dataset)} graphs, not one; use GraphLoader")
        self.dataset, self.graph = dataset, dataset[0]
        parts = dataset.split(split)
        for name, part in (("train_mask", parts.train), ("val_mask", parts.valid), ("test_mask", parts.test)):
            mask = torch.zeros(dataset.num_nodes, dtype=torch.bool)
            mask[part] = True
            self.graph[name] = mask

    def __len__(self) -> int:
        """Return 1."""
        return 1

    def epoch(self, epoch: int = 0, start: int = 0) -> Iterator[Data]:
        """Yield the graph, the same object each time; nothing if it is to be skipped."""
        yield from [self.graph][start:]


class _Batches(Dataset[Batch]):
    """A data set whose items are batches, its indices tensors of graph numbers."""

    def __init__(self, dataset: GraphDataset) -> None:
        self.dataset = dataset

    def __getitem__(self, numbers: Tensor) -> Batch:
        return self.dataset.batch(numbers)


class _Plan:
    """The batches of the epoch to come; the list is the loader's own."""

    def __init__(self, plan: list[Tensor]) -> None:
        self.plan = plan

    def __iter__(self) -> Iterator[Tensor]:
        return iter(list(self.plan))

    def __len__(self) -> int:
        return len(self.plan)


def _checked(indices: Sequence[int] | Tensor, dataset: GraphDataset) -> Tensor:
    found = torch.as_tensor(indices)
    if found.dtype == torch.bool or (found.is_floating_point() and found.numel()):
        raise UsageError(f"indices must be graph numbers, got {found.dtype}; a mask's are mask.nonzero().view(-1)")
    if found.numel() and (int(found.min()) < 0 or int(found.max()) >= len(dataset)):
        raise UsageError(
            f"{dataset.info.name} has graphs 0 to {len(dataset) - 1}, indices are {found.min()} to {found.max()}"
        )
    return found.long().view(-1)


def _order(n: int, seed: int, epoch: int, what: int) -> Tensor:
    """Return a permutation of n things that depends on nothing else; `what` tells graphs from batches."""
    if n == 0:
        return torch.arange(0)
    order = shuffled(Rings((n,), torch.zeros(1, dtype=torch.int64)), seed, epoch, layer=-1 - what).permutation
    assert order is not None
    return order


def _as_is(item: Any) -> Any:
    return item


def _end_workers(loader: DataLoader[Batch]) -> None:
    """End the processes, by force if need be: at its end Python waits for them and only asks by a signal that they
    ignore.
    """
    if (iterator := loader._iterator) is not None:
        iterator._shutdown_workers()  # type: ignore[attr-defined]
        for worker in iterator._workers:  # type: ignore[attr-defined]
            if worker.is_alive():
                worker.kill()


@contextmanager
def _held_signals() -> Iterator[None]:
    """Processes started in here never see an interrupt: what it does is up to the main one, which may have to finish
    and save.

    They end when it does. A mask is passed on to them at their start, so there is no moment at which they could be hit.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
