"""The training loop. There is one, for one graph or many, for GECO and every baseline.

A step depends on (configuration, weights, epoch, batch) only: dropout is drawn from a generator seeded by them, batches
and node orders are pure functions of them. So a run that was killed goes on bit by bit as if it had not been.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from geco import __version__
from geco.data.dataset import GraphDataset
from geco.distributed.agreement import check_same
from geco.distributed.gradients import sum_gradients
from geco.distributed.runtime import ALONE, Workers
from geco.errors import CheckpointError, Interrupted, NumericalError
from geco.machine import versions
from geco.nn.network.network import Network
from geco.nn.ops.shared_norm import share_norms
from geco.store import Entry
from geco.train import checkpoint
from geco.train.batch_norm import renew
from geco.train.batches import serve
from geco.train.build import build, chosen, columns, device_of, seed_of
from geco.train.checkpoint import State
from geco.train.config import Config
from geco.train.fine_tune import start_from
from geco.train.finite_checks import blame, gradient_norm
from geco.train.kept import given
from geco.train.memory import check_memory, peak
from geco.train.metrics import METRICS
from geco.train.optim import averaged, make_optimizer, rate, set_rate
from geco.train.outcome import outcome
from geco.train.phases import LocalPhase
from geco.train.run_folder import RunFolder
from geco.train.targets import GUESS, constant
from geco.train.tasks import Judged, by_target, disagreement, judged_loss, loss, score
from geco.train.unused import unused_fields

__all__ = ["Group", "Trainer"]

Group = list[tuple[int, Any, Tensor | None]]  # batches of one step: number, graphs, mask of the nodes that count


class Trainer:
    """A run: ``Trainer(config, dataset, folder).fit()``.

    Args:
        config: everything it depends on.
        dataset: prepared, with its encodings.
        folder: where it is kept; None writes nothing, and the best weights are in memory, in ``kept``.
        resume: go on with what the folder holds.
        schema: how the user's files were read, kept beside the weights so that new ones can be read alike.
        tell: called with every evaluation, and the best one so far as ``best``.
        stop: asked after every step and every epoch whether to save and leave.
        parts: of the split that are scored; without ``test`` nothing of a run depends on or tells of that part.
        workers: the processes that share out its graphs; all of them make a `Trainer` alike. A step is that of one
            process up to rounding, and only the first one writes; what it saved, any number of them go on with.
    """

    def __init__(
        self,
        config: Config,
        dataset: GraphDataset,
        folder: str | Path | None = None,
        *,
        resume: bool = False,
        schema: dict[str, Any] | None = None,
        tell: Callable[[dict[str, Any]], None] = lambda line: None,
        stop: Callable[[], bool] = lambda: False,
        parts: tuple[str, ...] = ("valid", "test"),
        workers: Workers = ALONE,
    ) -> None:
        config = chosen(config, dataset)
        self.config, self.info, self.schema, self.tell = config, dataset.info, schema, tell
        self.parts, self.workers, self._stop = parts, workers, stop
        self.data = "" if folder is None and workers.size == 1 else dataset.fingerprint  # no going on with other data
        facts = {"versions": {"geco": __version__, **versions()}, "settings": config.to_json(), "data": self.data}
        check_same(workers, facts)
        folder = Path(folder) if folder is not None and workers.first else None
        self.given, self.kept, self.timing = given(dataset), Entry({}, {}), list[dict[str, Any]]()
        if config.train.threads:
            torch.set_num_threads(config.train.threads)
        torch.use_deterministic_algorithms(config.train.deterministic)
        self.device = device_of(config)
        self.batches = serve(dataset, config, self.device, schema, workers)
        check_memory(config, columns(dataset, "node/x"), self.batches.nodes, self.device)
        self.model = build(config, dataset).to(self.device)
        self.optimizer = make_optimizer(self.model, config.optim)
        self.average = averaged(self.model, config.optim.average) if config.optim.average else None
        self.state = State()
        self.baseline = constant(dataset, config.data.split) if "test" in parts else {}
        self.unused = unused_fields(self.model, dataset)
        self.pulse: Callable[[float], None] = lambda epochs: None  # called after every step with the epochs done
        self.phase = LocalPhase(config, None if folder is None else folder / "local")
        self.run = None if folder is None else RunFolder(folder, config, resume)
        try:
            self._begin(resume)
        except BaseException:
            if self.run is not None:
                self.run.close()
            raise

    def _begin(self, resume: bool) -> None:
        """Put into place what training starts from."""
        if resume:
            self._resume(self.run)
        if self.config.init_from and not (self.state.epoch or self.state.batch):
            self._start_from(Path(self.config.init_from))
        if self.workers.size > 1:
            for network in {self.model, self.evaluated}:
                share_norms(network, self.workers)

    def _resume(self, run: RunFolder | None) -> None:
        """Go on with what the folder holds, which the first process reads for all."""
        found = self.workers.entry(lambda: None if run is None else checkpoint.newest(run.path / "last"))
        if found is not None:
            if found.about.get("data", self.data) != self.data:
                raise CheckpointError(f"{self.info.name} has changed since the run was started; choose another --out")
            self.state = checkpoint.restore(found, self._models, self.optimizer)
        if run is not None:
            run.rewind(self.state.history)

    def _start_from(self, run: Path) -> None:
        start_from(self.model, run, self.config.seed)
        self.evaluated.load_state_dict(self.model.state_dict())

    @property
    def metric(self) -> str:
        """Name of the score."""
        return self.info.metric

    @property
    def parameters(self) -> int:
        """Number of trained weights."""
        return sum(p.numel() for p in self.model.parameters())

    @property
    def guesses(self) -> dict[str, dict[str, float]]:
        """Scores of a guess without features, by its name."""
        return {GUESS[self.info.target]: self.baseline} if self.baseline else {}

    @property
    def evaluated(self) -> Network:
        """What is evaluated and kept: the network, or its running mean."""
        network = self.model if self.average is None else self.average.module
        assert isinstance(network, Network)
        return network

    @property
    def _models(self) -> dict[str, nn.Module]:
        return {"model": self.model, **({} if self.average is None else {"average": self.average})}

    def fit(self) -> dict[str, Any]:
        """Train to the end and return the result: the test score at the best validation epoch."""
        try:
            self._epochs()
            result = {
                **self.state.best,
                "metric": self.metric,
                "epochs": self.state.epoch,
                "parameters": self.parameters,
                "baseline": self.guesses,
                "unused": self.unused,
            }
            if self.run is not None:
                self.run.finish(result)
            return result
        finally:
            if self.run is not None:
                self.run.close()

    @property
    def done(self) -> bool:
        """Whether there is nothing left to train."""
        train = self.config.train
        tired = train.patience > 0 and self.state.waited >= train.patience and self.state.epoch > self.phase.epochs
        return self.state.epoch >= train.epochs or tired

    def _epochs(self) -> None:
        while not self.done:
            begin = time.perf_counter()
            if self.phase.ends(self.state):
                self.phase.reload(self._models, self.optimizer, self.workers)
            trained = self._epoch()
            self.state = replace(self.state, epoch=self.state.epoch + 1, batch=0, loss_sum=0.0, norm_sum=0.0)
            last = self.state.epoch in (self.config.train.epochs, self.phase.epochs)
            if self.state.epoch % self.config.train.eval_every == 0 or last:
                self._evaluate(trained, begin)
                if self.done or len(self.state.history) % self.config.train.save_every == 0:
                    self._save()
            if not self.done and self.workers.any(self._stop()):
                self._interrupt()

    def _epoch(self) -> dict[str, float]:
        """Train on the rest of the epoch and return its mean loss and gradient norm, and its last learning rate."""
        self.model.train()
        for network in {self.model, self.evaluated}:
            network.set_epoch(self.state.epoch, self.config.train.epochs)
        group: Group = []
        for number, (data, mask) in enumerate(self.batches.train(self.state.epoch, self.state.batch), self.state.batch):
            group.append((number, data, mask))
            if len(group) == self.config.optim.accumulate or number + 1 == self.batches.steps:
                self.state.loss_sum += self.step(group)
                self.state.batch = number + 1
                group = []
                self.pulse(self.state.epoch + self.state.batch / self.batches.steps)
                if self.workers.any(self._stop()):
                    self._interrupt()
        updates = math.ceil(self.batches.steps / self.config.optim.accumulate)
        return {
            "loss": self.state.loss_sum / self.batches.steps,
            "lr": self.config.optim.lr * self._factor(self.batches.steps - 1),
            "gradient": self.state.norm_sum / updates,
        }

    def step(self, group: Group) -> float:
        """Change the weights once, by the mean gradient of a group of batches, and return the sum of their losses."""
        config, epoch = self.config.optim, self.state.epoch
        self.optimizer.zero_grad(set_to_none=True)
        total = 0.0
        for number, data, mask in group:
            torch.manual_seed(seed_of(self.config.seed, epoch, number, *self.workers.key))
            self.workers.counted = mask is None or bool(mask.any())
            value = self._loss(data, mask)
            found = float(value.detach())
            total += found
            if not math.isfinite(found):
                self.model.train(self.workers.size == 1)  # else its norms would wait for the other processes
                raise NumericalError(f"the loss is {found} in epoch {epoch}, batch {number}: {blame(self.model, data)}")
            (value / len(group)).backward()
        total = sum_gradients(self.model.parameters(), self.workers, total)
        norm = gradient_norm(self.model, f"epoch {epoch}")
        self.state.norm_sum += float(norm)
        if config.clip:
            nn.utils.clip_grads_with_norm_(self.model.parameters(), config.clip, norm)
        set_rate(self.optimizer, config, self._factor(group[0][0]))
        self.optimizer.step()
        if self.average is not None:
            self.average.update_parameters(self.model)
        return total

    def _factor(self, batch: int) -> float:
        """Return the learning rate of the step that begins with a batch, as a multiple of the configured one."""
        done = self.state.epoch + (batch + 0.5) / self.batches.steps
        return rate(self.config.optim, done, self.config.train.epochs, self.state.waits)

    @property
    def _std(self) -> Tensor | None:
        return None if self.model.units is None else self.model.units.std

    def _loss(self, data: Any, mask: Tensor | None) -> Tensor:
        train, std, workers = self.config.train, self._std, self.workers
        total = workers.total if workers.size > 1 else None
        with self._precision():
            outputs = [self.model(data).float() for _ in range(2 if train.consistency else 1)]
        head, weigh = self.model.head, train.class_weights
        value = torch.stack([loss(o, data, mask, self.info, head, weigh, std, total) for o in outputs]).mean()
        if not train.consistency:
            return value
        return value + train.consistency * workers.part(len(outputs[0])) * disagreement(outputs)

    def _precision(self) -> torch.autocast:
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.config.train.amp == "bf16")

    def renew(self) -> None:
        """Make BatchNorm's statistics for the weights of now, by a pure function of (configuration, weights, epoch)."""
        epoch, count = self.state.epoch, self.config.train.statistics
        if count:
            passes = enumerate(self.batches.sample(epoch, count))
            seed, key = self.config.seed, self.workers.key
            with self._precision():
                renew(self.evaluated, ((seed_of(seed, epoch, number, 1, *key), data) for number, data in passes))

    def judged(self, parts: tuple[str, ...]) -> dict[str, Judged]:
        """Return outputs beside targets of parts of the split, with statistics of the weights of now."""
        self.renew()
        self.evaluated.eval()
        outputs = self.batches.outputs(self.evaluated, parts)
        for part, (found, _) in outputs.items():
            if not bool(found.isfinite().all()):
                raise NumericalError(
                    f"outputs of the {part} part are not finite after epoch {self.state.epoch}; lower --optim.lr"
                )
        return outputs

    def score(self, parts: tuple[str, ...]) -> dict[str, float]:
        """Return the score of parts of the split."""
        return {part: score(found, self.info) for part, found in self.judged(parts).items()}

    def _evaluate(self, trained: dict[str, float], begin: float) -> None:
        """Score the network, log the scores beside what training says, and keep the weights if they are the best."""
        half_way = time.perf_counter()
        outputs = self.judged(self.parts)
        scores: dict[str, Any] = {part: score(outputs[part], self.info) for part in outputs}
        named = {part: by_target(outputs[part], self.info) for part in outputs}
        scores |= {"targets": named} if any(named.values()) else {}
        scores |= self._at_one_size(outputs["valid"])
        valid_loss = judged_loss(outputs["valid"], self.info, self.config.train.class_weights, self._std)
        scores, valid_loss = self.workers.told([scores, valid_loss])  # by which all decide alike
        line = {"epoch": self.state.epoch, **trained, **valid_loss, **scores}
        self.state.history.append(line)
        best = self.state.best
        if not best or self._better(scores.get("choice", scores["valid"]), best.get("choice", best["valid"])):
            self.state.best = {"epoch": self.state.epoch, **scores}
            self._keep(outputs.get("test"))
        self.state.waits.append(self.phase.waited(self.state))
        timing = {"train": half_way - begin, "evaluate": time.perf_counter() - half_way}
        self.timing.append({"epoch": self.state.epoch, **timing})
        if self.run is not None:
            self.run.log(line, timing, peak(self.device))
        self.tell({**line, "best": {key: self.state.best[key] for key in ("epoch", *self.parts)}})

    def _keep(self, test: Judged | None) -> None:
        """Keep the weights of now as the best ones, on disk or in memory, with what reports show of the test part."""
        if not self.workers.first:
            return
        told = {} if test is None else outcome(test, self.info)
        report = {"outcome": told, "parameters": self.parameters, "baseline": self.guesses}
        about = {**self._about(), "report": report}
        if self.run is not None:
            self.run.check()
        self.phase.keep(self.state, self._models, self.optimizer, self._about())
        if self.run is None:
            self.kept = checkpoint.best_of(self.state, self.evaluated, about)
            return
        checkpoint.save_best(self.run.path / "best", self.state, self.evaluated, about)

    def _at_one_size(self, valid: Judged) -> dict[str, float]:
        """Return the score by which the best epoch of several values is chosen, so that no unit outweighs another."""
        if self._std is None or self.info.num_targets == 1:
            return {}
        found, target = (t / self._std for t in valid)
        return {"choice": score((found, target), self.info)}

    def _better(self, new: float, old: float) -> bool:
        return new > old if METRICS[self.metric].better == "higher" else new < old

    def _about(self) -> dict[str, Any]:
        facts = {"network": self.model.config, "info": self.info.to_json(), "config": self.config.to_json()}
        schema = {} if self.schema is None else {"schema": self.schema}
        return {**facts, "data": self.data, "given": self.given, **schema}

    def _save(self) -> None:
        if self.run is not None:
            self.run.check()
            folder = self.run.path / "last"
            checkpoint.save(folder, self.state, self._models, self.optimizer, self._about(), self.config.train.keep)

    def _interrupt(self) -> None:
        self._save()
        where = f"saved in {self.run.path}; go on with --resume auto" if self.run else "nothing is kept without --out"
        raise Interrupted(f"stopped after batch {self.state.batch} of epoch {self.state.epoch}, {where}")
