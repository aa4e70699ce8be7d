"""Trainings and one table, by the engine of `geco train`: digits as a graph, and an answer from 16 steps away."""

import time
from dataclasses import replace

from geco.configs import shipped
from geco.console import print_table, show_log
from geco.meter import Meter
from geco.train.build import prepared
from geco.train.config import Config, DataConfig, ModelConfig, OptimConfig, TrainConfig, from_table, read_toml
from geco.train.engine import Trainer

DIGITS = Config(DataConfig("digits"), ModelConfig(hidden=64, dropout=0.5), OptimConfig(lr=0.01), TrainConfig(epochs=60))
ECHO = replace(read_toml(shipped()["echo"]), train=TrainConfig(epochs=6))
STRUCTURE = {"permutation": "structure"}  # the node order is derived from the graph
DIGITS_MODELS = {"geco": {}, "gcn": {"name": "gcn"}, "mlp": {"name": "mlp"}}
ECHO_MODELS = {
    "geco": {"filter": "windows", **STRUCTURE},
    "geco, mean filters": {"filter": "mean", **STRUCTURE},
    "gcn": {"name": "gcn"},
    "attention": {"name": "transformer"},
}
NEXT = """
digits: 1,797 images joined to their nearest neighbours, which favours a GCN. echo: every node of a path must name the
colour 16 steps towards the marked end. Three layers of message passing do not see that far; a mean over all nodes and
attention without positions see every node, but not how far away it is (chance is 0.125). GECO's windows do.

Next, in this environment (. .venv/bin/activate):
  geco train digits --model.name gat           another network, the same engine
  geco train cora --seeds 0 1 2 --out runs/a   a benchmark (downloads it), mean and spread over seeds
  geco data import my-folder --name mine       your own nodes.csv and edges.csv, or molecules; then: geco train mine
  geco --help"""


@show_log()
def main() -> None:
    rows = [["data set", "model", "test accuracy", "best epoch", "parameters", "seconds"]]
    for config, models in ((DIGITS, DIGITS_MODELS), (ECHO, ECHO_MODELS)):
        for name, settings in models.items():
            chosen = from_table({"model": settings}, config, name)
            begin = time.perf_counter()
            with Meter(f"{config.data.name}, {name}", config.train.epochs) as meter:
                r = Trainer(chosen, prepared(chosen), tell=meter.show).fit()
            seconds = f"{time.perf_counter() - begin:.1f}"
            rows.append([config.data.name, name, f"{r['test']:.4f}", str(r["epoch"]), f"{r['parameters']:,}", seconds])
    print_table(rows)
    print(NEXT)


if __name__ == "__main__":
    main()
