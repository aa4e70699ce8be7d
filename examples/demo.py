"""Two trainings and one table, by the engine of `geco train`: digits as a graph, and a key to be copied from far away."""

import time
from dataclasses import replace

from geco.console import Meter, print_table
from geco.data import load
from geco.train.config import Config, DataConfig, ModelConfig, OptimConfig, TrainConfig
from geco.train.engine import Trainer

DIGITS = Config(DataConfig("digits"), ModelConfig(hidden=64, dropout=0.5), OptimConfig(lr=0.01), TrainConfig(epochs=60))
COPY = Config(
    DataConfig("ring-copy", batch_size=16),
    ModelConfig(hidden=32, dropout=0.0),
    OptimConfig(lr=0.01, weight_decay=0.0, warmup=1),
    TrainConfig(epochs=6),
)
NEXT = """
digits: 1,797 images joined to their nearest neighbours, which favours a GCN. ring-copy: a key must travel 50 edges around
a ring; two layers of message passing cannot see it (chance is 0.25), two layers of GECO hear every node.

Next, in this environment (. .venv/bin/activate):
  geco train digits --model.name gat           another network, the same engine
  geco train cora --seeds 0 1 2 --out runs/a   a benchmark (downloads it), mean and spread over seeds
  geco data import my-folder --name mine       your own nodes.csv and edges.csv, or molecules; then: geco train mine
  geco --help"""


def main() -> None:
    rows = [["data set", "model", "test accuracy", "best epoch", "parameters", "seconds"]]
    for config, models in ((DIGITS, ("geco", "gcn", "mlp")), (COPY, ("geco", "gcn"))):
        dataset = load(config.data.name)
        for name in models:
            chosen = replace(config, model=replace(config.model, name=name))
            begin = time.perf_counter()
            with Meter(f"{config.data.name}, {name}", config.train.epochs) as meter:
                r = Trainer(chosen, dataset, tell=meter.show).fit()
            seconds = f"{time.perf_counter() - begin:.1f}"
            rows.append([config.data.name, name, f"{r['test']:.4f}", str(r["epoch"]), f"{r['parameters']:,}", seconds])
    print_table(rows)
    print(NEXT)


if __name__ == "__main__":
    main()
