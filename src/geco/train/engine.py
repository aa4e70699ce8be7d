"""The training loop. There is one, for one graph or many, for GECO and every baseline.

A step depends on (configuration, weights, epoch, batch) only: dropout is drawn from a generator seeded by them, batches and
node orders are pure functions of them. So a run that was killed goes on bit by bit as if it had not been.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from geco.data.dataset import GraphDataset
from geco.data.encodings.names import parse
from geco.errors import Interrupted, NumericalError
from geco.nn.network import Network
from geco.store import Entry, write_entry
from geco.train import checkpoint
from geco.train.batches import serve
from geco.train.checkpoint import State
from geco.train.config import Config
from geco.train.metrics import METRICS
from geco.train.optim import make_optimizer, rate, set_rate
from geco.train.runlog import RunFolder
from geco.train.tasks import loss, score

__all__ = ["Trainer", "build", "device_of", "seed_of"]


def device_of(config: Config) -> torch.device:
    """Return the device a run uses."""
    if config.train.device != "auto":
        return torch.device(config.train.device)
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def seed_of(*key: int) -> int:
    """Return a seed that depends on every number of the key and on nothing else."""
    return int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:8], "big") >> 1


def build(config: Config, dataset: GraphDataset) -> Network:
    """Return the network of a configuration, with weights drawn from its seed."""
    info, m = dataset.info, config.model
    torch.manual_seed(seed_of(config.seed))
    options = {"order": m.order, "norm": m.norm, "permutation": m.permutation, "eval_orders": m.eval_orders}
    return Network(
        m.name, dataset.arrays["node/x"].shape[1], info.level, info.num_targets, categories=info.categories,
        encodings={e.name: dataset.arrays[f"node/{e.name}"].shape[1] for e in map(parse, config.data.encodings)},
        vocabulary=len(info.names) if info.target == "tokens" else 0, hidden=m.hidden, layers=m.layers, dropout=m.dropout,
        input_dropout=m.input_dropout, heads=m.heads, pool=m.pool,
        geco={**options, "ffn_ratio": m.ffn_ratio, "seed": config.seed} if m.name == "geco" else None,
    )  # fmt: skip


class Trainer:
    """A run: ``Trainer(config, dataset, folder).fit()``.

    Args:
        config: everything it depends on.
        dataset: prepared, with its encodings.
        folder: where it is kept; None keeps nothing.
        resume: go on with what the folder holds.
        schema: how the user's files were read, kept beside the weights so that new ones can be read alike.
        tell: called with every evaluation.
        stop: asked after every step whether to save and leave.
    """

    def __init__(
        self,
        config: Config,
        dataset: GraphDataset,
        folder: Path | None = None,
        *,
        resume: bool = False,
        schema: dict[str, Any] | None = None,
        tell: Callable[[dict[str, Any]], None] = lambda line: None,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self.config, self.info, self.schema, self.tell, self.stop = config, dataset.info, schema, tell, stop
        if config.train.threads:
            torch.set_num_threads(config.train.threads)
        torch.use_deterministic_algorithms(config.train.deterministic)
        self.device = device_of(config)
        self.batches = serve(dataset, config, self.device)
        self.model = build(config, dataset).to(self.device)
        self.optimizer = make_optimizer(self.model, config.optim)
        self.state = State()
        self.run = None if folder is None else RunFolder(folder, config, resume)
        found = checkpoint.newest(folder / "last") if folder and resume else None
        if found is not None and self.run is not None:
            self.state = checkpoint.restore(found, self.model, self.optimizer)
            self.run.rewind(self.state.history)

    @property
    def metric(self) -> str:
        """Name of the score."""
        return self.info.metric

    def fit(self) -> dict[str, Any]:
        """Train to the end and return the result: the test score at the best validation epoch."""
        try:
            self._epochs()
            result = {**self.state.best, "metric": self.metric, "epochs": self.state.epoch, "parameters": self.parameters}
            if self.run is not None:
                self.run.finish(result)
            return result
        finally:
            if self.run is not None:
                self.run.close()

    def _epochs(self) -> None:
        epochs, patience = self.config.train.epochs, self.config.train.patience
        while self.state.epoch < epochs and not self.state.finished:
            begin = time.perf_counter()
            mean_loss = self._epoch()
            self.state = replace(self.state, epoch=self.state.epoch + 1, batch=0, loss_sum=0.0)
            if self.state.epoch % self.config.train.eval_every == 0 or self.state.epoch == epochs:
                self._evaluate(mean_loss, begin)
                self.state.finished = bool(patience) and self.state.waited >= patience
                if self.state.finished or self.state.epoch == epochs or self._due():
                    self._save()

    @property
    def parameters(self) -> int:
        """Number of trained weights."""
        return sum(p.numel() for p in self.model.parameters())

    def _due(self) -> bool:
        return len(self.state.history) % self.config.train.save_every == 0

    def _epoch(self) -> float:
        """Train on the rest of the epoch and return its mean loss."""
        self.model.train()
        self.model.set_epoch(self.state.epoch, self.config.train.epochs)
        group, size = [], self.config.optim.accumulate
        for number, (data, mask) in enumerate(self.batches.train(self.state.epoch, self.state.batch), self.state.batch):
            group.append((number, data, mask))
            if len(group) == size or number + 1 == self.batches.steps:
                self.state.loss_sum += self._step(group)
                self.state.batch = number + 1
                group = []
                if self.stop():
                    self._interrupt()
        return self.state.loss_sum / self.batches.steps

    def _step(self, group: list[tuple[int, Any, Tensor | None]]) -> float:
        """Change the weights once, by the mean gradient of a group of batches, and return the sum of their losses."""
        config, epoch = self.config.optim, self.state.epoch
        self.optimizer.zero_grad(set_to_none=True)
        total = 0.0
        for number, data, mask in group:
            torch.manual_seed(seed_of(self.config.seed, epoch, number))
            value = self._loss(data, mask)
            found = float(value.detach())
            total += found
            if not math.isfinite(found):
                raise NumericalError(f"the loss is {found} in epoch {epoch}, batch {number}: {self._blame(data)}")
            (value / len(group)).backward()
        grads = {name: p.grad for name, p in self.model.named_parameters() if p.grad is not None}
        norm = nn.utils.get_total_norm(grads.values())
        if not bool(norm.isfinite()):
            bad = ", ".join([name for name, grad in grads.items() if not bool(grad.isfinite().all())][:3])
            raise NumericalError(f"the gradient of {bad or 'all weights'} is not finite in epoch {epoch}; lower --optim.lr")
        if config.clip:
            nn.utils.clip_grads_with_norm_(self.model.parameters(), config.clip, norm)
        done = epoch + (group[0][0] + 0.5) / self.batches.steps
        set_rate(self.optimizer, config, rate(config, done, self.config.train.epochs, self.state.waits))
        self.optimizer.step()
        return total

    def _loss(self, data: Any, mask: Tensor | None) -> Tensor:
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.config.train.amp == "bf16"):
            output = self.model(data)
        return loss(output.float(), data, mask, self.info)

    def _blame(self, data: Any) -> str:
        """Name the first module whose output is not finite."""
        found: list[str] = []

        def look(name: str) -> Callable[..., None]:
            def hook(_module: nn.Module, _inputs: Any, output: Any) -> None:
                if isinstance(output, Tensor) and not bool(output.isfinite().all()):
                    found.append(name)

            return hook

        handles = [module.register_forward_hook(look(name)) for name, module in self.model.named_modules() if name]
        with torch.no_grad():
            self.model(data)
        for handle in handles:
            handle.remove()
        return f"the output of {found[0]} is not finite, the first such" if found else "outputs are finite, a target is not"

    def score(self, parts: tuple[str, ...]) -> dict[str, float]:
        """Return the score of parts of the split."""
        self.model.eval()
        outputs = self.batches.outputs(self.model, parts)
        return {part: score(outputs[part], self.info) for part in parts}

    def _evaluate(self, mean_loss: float, begin: float) -> None:
        trained = time.perf_counter()
        scores = self.score(("valid", "test"))
        line = {"epoch": self.state.epoch, "loss": mean_loss, **scores}
        self.state.history.append(line)
        if not self.state.best or self._better(scores["valid"], self.state.best["valid"]):
            self.state.best = {"epoch": self.state.epoch, **scores}
            self._save_best()
        self.state.waits.append(self.state.epoch - self.state.best["epoch"])
        if self.run is not None:
            self.run.log(line, {"train": trained - begin, "evaluate": time.perf_counter() - trained})
        self.tell(line)

    def _better(self, new: float, old: float) -> bool:
        return new > old if METRICS[self.metric].better == "higher" else new < old

    def _about(self) -> dict[str, Any]:
        kept = {"network": self.model.config, "info": self.info.to_json(), "config": self.config.to_json()}
        return kept if self.schema is None else {**kept, "schema": self.schema}

    def _save(self) -> None:
        if self.run is not None:
            folder = self.run.path / "last"
            checkpoint.save(folder, self.state, self.model, self.optimizer, self._about(), self.config.train.keep)

    def _save_best(self) -> None:
        if self.run is not None:
            weights = {name: value.detach().clone() for name, value in self.model.state_dict().items()}
            write_entry(self.run.path / "best", Entry(weights, {**self._about(), **self.state.best}))

    def _interrupt(self) -> None:
        self._save()
        where = f"saved in {self.run.path}; go on with --resume auto" if self.run else "nothing is kept without --out"
        raise Interrupted(f"stopped after batch {self.state.batch} of epoch {self.state.epoch}, {where}")
