"""Which statistics BatchNorm should be evaluated with: ``python -m geco.studies.statistics``.

The same weights are scored with statistics made in different ways, and each way is given the test score at its
own best validation epoch: running ones as torch tracks them; of one pass over training batches without dropout; of one
pass with it; of eight. A pass is over the graph, or over up to 16 batches where there are many. Training is the same
for all.
"""

from __future__ import annotations

import argparse
import copy
import os
import statistics
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from geco.configs import shipped
from geco.console import print_table, show_log
from geco.data.dataset import GraphDataset
from geco.data.load_dataset import load
from geco.nn.network.network import Network
from geco.studies.measure import write_json
from geco.train.batch_norm import renew
from geco.train.build import build, seed_of
from geco.train.config import Config, from_table, read_toml
from geco.train.engine import Trainer
from geco.train.tasks import Judged, score

__all__ = ["CASES", "WAYS", "main"]

BATCHES = 16  # of a pass
WAYS = {"running": (0, True), "1 pass, no dropout": (1, False), "1 pass": (1, True), "8 passes": (8, True)}
NO_DROPOUT = {"dropout": 0.0, "input_dropout": 0.0, "mixer_dropout": 0.0, "head_dropout": 0.0}
HYBRID = {"name": "hybrid", "local": "gcn"}
CASES: dict[
    str, tuple[str, str, dict[str, Any]]
] = {  # data set, shipped configuration or none, further settings of the model
    "cora, defaults, gcn": ("cora", "", {"name": "gcn"}),
    "cora, defaults, geco": ("cora", "", {"name": "geco"}),
    "cora, defaults, gcn beside geco": ("cora", "", HYBRID),
    "pubmed, defaults, gcn": ("pubmed", "", {"name": "gcn"}),
    "pubmed, defaults, geco": ("pubmed", "", {"name": "geco"}),
    "pubmed, tuned, gcn": ("pubmed", "pubmed", {"name": "gcn"}),
    "pubmed, tuned, geco": ("pubmed", "pubmed", {}),
    "amazon-photo, tuned, gcn": ("amazon-photo", "amazon-photo", {"name": "gcn"}),
    "amazon-photo, tuned, geco": ("amazon-photo", "amazon-photo", {}),
    "ring-copy, defaults, geco": ("ring-copy", "", {"name": "geco"}),
}


class Compared(Trainer):
    """A run that keeps running statistics and scores its weights with all others beside them."""

    def __init__(self, config: Config, dataset: GraphDataset) -> None:
        super().__init__(replace(config, train=replace(config.train, statistics=0)), dataset)
        clean = from_table({"model": NO_DROPOUT}, config, "without dropout")
        self.twins: dict[bool, Network] = {False: build(clean, dataset), True: copy.deepcopy(self.model)}
        self.found: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}

    def judged(self, parts: tuple[str, ...]) -> dict[str, Judged]:
        """Return outputs with running statistics, and note the scores with these and with all others."""
        outputs = super().judged(parts)
        running = {part: score(found, self.info) for part, found in outputs.items()}
        for way, (passes, dropout) in WAYS.items():
            self.found[way].append(self._scored(passes, dropout, parts) if passes else running)
        return outputs

    def _scored(self, passes: int, dropout: bool, parts: tuple[str, ...]) -> dict[str, float]:
        network = self.twins[dropout]
        epoch = self.state.epoch
        network.load_state_dict(self.evaluated.state_dict())
        network.set_epoch(epoch - 1, self.config.train.epochs)
        batches = (data for turn in range(passes) for data in self.batches.sample(epoch + turn, BATCHES))
        renew(network, ((seed_of(self.config.seed, epoch, number, 1), data) for number, data in enumerate(batches)))
        outputs = self.batches.outputs(network.eval(), parts)
        return {part: score(outputs[part], self.info) for part in parts}

    def best(self) -> dict[str, dict[str, float]]:
        """Return each way's best epoch by validation, with its scores."""
        found = {}
        for way, lines in self.found.items():
            first = max(range(len(lines)), key=[line["valid"] for line in lines].__getitem__)  # of equal ones the first
            found[way] = {"epoch": self.state.history[first]["epoch"], **lines[first]}
        return found


@show_log()
def main(arguments: list[str] | None = None) -> None:
    """Run the study from the command line."""
    parser = argparse.ArgumentParser(prog="python -m geco.studies.statistics", description=__doc__)
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--epochs", type=int, help="of each training; its own setting if not given")
    parser.add_argument("--every", type=int, default=1, help="epochs from one evaluation to the next")
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("GECO_DATA"), help="folder of raw data sets")
    parser.add_argument("--json", type=Path, help="write the results here")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    results: dict[str, Any] = {}
    for case in options.cases:
        data, base, model = CASES[case]
        start = read_toml(shipped()[base]) if base else Config()
        config = from_table({"data": {"name": data}, "model": model}, start, case)
        train = replace(config.train, epochs=options.epochs or config.train.epochs, eval_every=options.every)
        config = replace(config, train=train)
        results[case] = _case(config, load(data, options.data_dir), options.seeds)
        print_table(_rows(case, results[case]))
    write_json(options.json, "python -m geco.studies.statistics " + " ".join(sys.argv[1:]), results)


def _case(config: Config, dataset: GraphDataset, seeds: list[int]) -> dict[str, list[dict[str, float]]]:
    found: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
    for seed in seeds:
        run = Compared(replace(config, seed=seed), dataset)
        run.fit()
        for way, line in run.best().items():
            found[way].append({"seed": seed, **line})
    return found


def _rows(case: str, found: dict[str, list[dict[str, float]]]) -> list[list[str]]:
    rows = [[case, "valid", "test", "epochs"]]
    for way, lines in found.items():
        valid, test = ([100 * line[part] for line in lines] for part in ("valid", "test"))
        spread = [f"{statistics.mean(part):.2f} ± {statistics.pstdev(part):.2f}" for part in (valid, test)]
        rows.append([way, *spread, " ".join(str(line["epoch"]) for line in lines)])
    return rows


if __name__ == "__main__":
    main()
