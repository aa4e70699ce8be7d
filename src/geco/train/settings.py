"""The settings of a run: frozen dataclasses with defaults, ranges and a line of help each. Nothing here imports
torch.
"""

from __future__ import annotations

import dataclasses
import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from geco.errors import UsageError
from geco.names import BASELINES, LOCALS, MIXERS, encoding

__all__ = ["Config", "DataConfig", "ModelConfig", "OptimConfig", "TrainConfig"]

if TYPE_CHECKING:  # a type checker cannot read names off a table
    Body = str
    Local = str
    Mixer = str
else:
    Body = Literal["geco", "hybrid", *BASELINES]
    Local = Literal[*LOCALS, "none"]
    Mixer = Literal[*MIXERS, "none"]
FilterName = Literal["auto", "windows", "waves", "mean", "none", "paper"]
Choice = Literal["auto", "natural", "static", "dynamic", "structure"]


@dataclass(frozen=True)
class DataConfig:
    """Which data, and how it is served."""

    name: str = "digits"
    """Data set: a name of `geco data list` or of your own imported data."""
    encodings: tuple[str, ...] = ()
    """Encodings joined to the features, such as lap-pe:10 or rwse:16; `geco data prepare --help` lists them."""
    split: int = 0
    """Which of the data set's splits."""
    batch_size: int = 128
    """Graphs a step, where there are several graphs; with --data.sample training nodes a step."""
    sample: Literal["none", "clusters", "hops", "walks"] = "none"
    """Train one graph by subgraphs around some training nodes, an approximation: clusters of it, or nodes at random
    with drawn neighbours or random walks from them; evaluation sees the whole graph.
    """
    fanout: tuple[int, ...] = (10, 10)
    """Neighbours that a node draws under --data.sample hops, for each hop."""
    walk: int = 4
    """Steps of each walk under --data.sample walks."""
    group_by_size: bool = False
    """Train on batches of graphs of similar size: quicker, but BatchNorm then counts on them and scores fall."""
    workers: int = 0
    """Processes that prepare batches."""
    undirected: bool = True
    """Add the reverse of every edge, to single graphs; collections keep theirs, and so does what was imported with
    --directed.
    """

    def __post_init__(self) -> None:
        """Check names and ranges."""
        for text in self.encodings:
            encoding(text)
        _least("data", self, split=0, batch_size=1, workers=0, walk=1)
        if not self.fanout or min(self.fanout) < 1:
            raise UsageError(f"--data.fanout must be one or more numbers from 1 on, got {list(self.fanout)}")


@dataclass(frozen=True)
class ModelConfig:
    """Which network."""

    name: Body = "geco"
    """GECO, a hybrid of a local GNN and a global mixer, or a baseline."""
    hidden: int = 64
    """Width."""
    layers: int = 2
    """Depth."""
    dropout: float = 0.5
    """Of the body's layers."""
    input_dropout: float = 0.0
    """Of the features."""
    diffusion: int = 0
    """Steps over which features are averaged along the edges first; with few labels many help."""
    order: int = 2
    """K, convolutions of a GECO layer."""
    adjacency: Literal["sym", "row", "none", "attention"] = "sym"
    """How GECO's local block normalises the adjacency."""
    filter: FilterName = "auto"
    """Filters of GECO: windows over distances, waves of the ring, the mean, none, the paper's; auto is by what the data
    is.
    """
    support: int = 128
    """Farthest distance that windows see, in nodes."""
    filter_start: Literal["silent", "drawn"] = "silent"
    """Start of windows: silent, so that a fresh block is the gated mean, or with weights drawn."""
    filter_gain: Literal["none", "mean", "l1"] = "none"
    """Gain of the paper's filter: none as it is written, 1 / N, or 1 / its sum of absolute values; mean is for waves
    too.
    """
    ffn_ratio: float = 1.0
    """Width of the feed-forward blocks in multiples of the width."""
    permutation: Choice = "auto"
    """Node order of GECO and Hyena: as in the file, shuffled once or for every epoch and layer, or made from the graph.
    """
    structure_version: Literal[1, 2] = 2
    """Of the order made from the graph: 2 reads all chains of alike links one way, 1 is for what was trained before it.
    """
    eval_orders: int = 4
    """Orders averaged at test time under dynamic permutation."""
    hyena_length: int = 0
    """Length of Hyena's filters in nodes; 0 is that of each graph."""
    local_epochs: int = 0
    """Epochs that Polynormer trains its local part alone; from the best of them on it trains all. 0 is a third of the
    epochs, and goes on from the last.
    """
    heads: int = 4
    """Attention heads where there are any."""
    local: Local = "gatedgcn"
    """Local GNN of a hybrid."""
    mixer: Mixer = "geco"
    """Global mixer of a hybrid; cascade is GECO's operator with its blocks replaced."""
    arrangement: Literal["parallel", "before"] = "parallel"
    """Local GNN and mixer of a hybrid: side by side in each layer, or as many layers of the GNN before those of the
    mixer.
    """
    block: Literal["lcb", "conv", "gcn", "gat", "gatedgcn", "none"] = "lcb"
    """Local block of cascade: GECO's, a convolution over the node order, or message passing without edge features."""
    block_width: int = 10
    """Nodes that the convolution of cascade sees."""
    context: Literal["gcb", "attention", "performer", "hyena"] = "gcb"
    """Global block of cascade: GECO's or another one."""
    mixer_dropout: float = 0.0
    """Of the attention weights in a hybrid with attention or Exphormer."""
    attention_bias: Literal["none", "spb", "pma", "mask-1", "mask-n"] = "none"
    """What attention in a hybrid is told of the graph: a weight for each number of hops (spb), powers of the adjacency
    (pma), to see one hop far (mask-1), or one, two, three, ... head by head (mask-n).
    """
    expander_degree: int = 5
    """Permutations of Exphormer's random graph, whose degree is twice this; 0 is none."""
    virtual_nodes: int = 1
    """Virtual nodes of Exphormer; 0 is none."""
    layer_norm: Literal["batch", "layer"] = "batch"
    """Norms of a hybrid."""
    block_norm: bool = True
    """Norms after each skip of GECO's and each layer of plain GNNs; with few labels they can do harm."""
    act: Literal["relu", "gelu"] = "relu"
    """Activation of GECO and hybrids, and of the head."""
    encoding_width: int = 16
    """Channels that each encoding takes of the width."""
    join: Literal["concat", "add"] = "concat"
    """How encodings join the features; added ones have the whole width."""
    standardise: bool = False
    """Bring real features of nodes and edges to mean 0 and deviation 1, as seen in training."""
    scaling: Literal["auto", "robust", "none"] = "auto"
    """The same column by column: robust takes the logarithm where tails are heavy and leaves zeros and ones alone; auto
    is for your own data, if its columns differ in size.
    """
    targets: Literal["auto", "standardised", "raw"] = "auto"
    """How values are learnt; predictions and scores are in their own units either way. auto is standardised, by the
    training part.
    """
    edges: Literal["auto", "used", "partly"] = "auto"
    """Weights and features of edges: used by all layers that can, or partly, as in runs begun before that: weights by
    GECO alone, features by GatedGCN and GINE of a hybrid. auto is used where it differs.
    """
    embedding_init: Literal["xavier", "normal"] = "xavier"
    """How tables of categories start."""
    pool: Literal["mean", "sum", "max", "attention"] = "mean"
    """From nodes to a graph."""
    head_layers: int = 1
    """Maps of the head; for links 1 is a dot product."""
    head_widths: Literal["flat", "halving"] = "flat"
    """Widths between them."""
    head_norm: bool = False
    """BatchNorm between them."""
    head_dropout: float = 0.0
    """Before each of them."""

    def __post_init__(self) -> None:
        """Check ranges."""
        _least(
            "model",
            self,
            hidden=1,
            layers=1,
            order=1,
            eval_orders=1,
            heads=1,
            encoding_width=1,
            head_layers=1,
            diffusion=0,
            expander_degree=0,
            virtual_nodes=0,
            local_epochs=0,
            block_width=1,
        )
        _least("model", self, support=1)
        if self.hyena_length < 0 or self.hyena_length == 1:
            raise UsageError(
                f"--model.hyena-length must be at least 2, or 0 for that of each graph; got {self.hyena_length}"
            )
        if (
            self.filter_gain != "none"
            and self.filter != "paper"
            and (self.filter, self.filter_gain) != ("waves", "mean")
        ):
            wanted = "is for --model.filter paper (mean: waves too)"
            raise UsageError(f"--model.filter-gain {self.filter_gain} {wanted}, got filter {self.filter}")
        if self.local_epochs and self.name != "polynormer":
            raise UsageError(f"--model.local-epochs is for --model.name polynormer, got {self.name}")
        if self.arrangement == "before" and (self.name != "hybrid" or "none" in (self.local, self.mixer)):
            wanted = "is for --model.name hybrid with a local GNN and a mixer"
            got = f"{self.name} with {self.local} and {self.mixer}"
            raise UsageError(f"--model.arrangement before {wanted}; got {got}")
        if self.attention_bias != "none" and not _attends(self):
            wanted = "is for --model.name hybrid with --model.mixer attention, or cascade and --model.context attention"
            got = f"{self.name} with {self.mixer}" if self.name == "hybrid" else self.name
            raise UsageError(f"--model.attention-bias {self.attention_bias} {wanted}; got {got}")
        if self.filter_start != "silent" and self.filter != "windows":
            raise UsageError(f"--model.filter-start drawn is for --model.filter windows, got filter {self.filter}")
        for name in ("dropout", "input_dropout", "mixer_dropout", "head_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise UsageError(f"--model.{name.replace('_', '-')} must be in [0, 1), got {getattr(self, name)}")
        if not (math.isfinite(self.ffn_ratio) and self.ffn_ratio > 0):
            raise UsageError(f"--model.ffn-ratio must be above 0, got {self.ffn_ratio}")


@dataclass(frozen=True)
class OptimConfig:
    """How weights are changed."""

    name: Literal["adamw", "adam"] = "adamw"
    """Optimiser."""
    lr: float = 0.01
    """Learning rate."""
    weight_decay: float = 5e-4
    """On matrices; never on filters, norms and biases."""
    filter_lr: float = 1.0
    """Learning rate of GECO's filters in multiples of lr."""
    schedule: Literal["constant", "cosine", "linear", "plateau"] = "cosine"
    """Course of the learning rate after warm-up."""
    warmup: int = 5
    """Epochs in which it rises from 0."""
    plateau_patience: int = 10
    """Epochs without a better validation score before plateau halves it."""
    clip: float = 1.0
    """Largest norm of the gradient; 0 is no limit."""
    accumulate: int = 1
    """Batches whose gradients are averaged for one step."""
    average: float = 0.0
    """Decay, a step, of the running mean of the weights that is evaluated and kept in their place, such as 0.999; 0 is
    none.
    """

    def __post_init__(self) -> None:
        """Check ranges."""
        _least("optim", self, warmup=0, plateau_patience=1, accumulate=1)
        for name in ("lr", "weight_decay", "filter_lr", "clip"):
            value = getattr(self, name)
            if not 0 <= value <= 1e30 or (name == "lr" and value == 0):  # float32 ends at 3e38
                low = "above 0" if name == "lr" else "0 or more"
                raise UsageError(f"--optim.{name.replace('_', '-')} must be a finite number {low}, got {value}")
        if not 0 <= self.average < 1:
            raise UsageError(f"--optim.average must be in [0, 1), got {self.average}")


@dataclass(frozen=True)
class TrainConfig:
    """How long, and how it runs."""

    epochs: int = 200
    """At most."""
    patience: int = 0
    """Epochs without a better validation score before it stops; 0 is never."""
    eval_every: int = 1
    """Epochs from one validation to the next."""
    save_every: int = 1
    """Validations from one checkpoint to the next."""
    keep: int = 2
    """Checkpoints kept, at least 2: the newest may be damaged."""
    class_weights: bool = False
    """Weigh the classes of a batch in the loss by how rare they are, as on superpixels."""
    consistency: float = 0.0
    """Weight in the loss of how far two passes with different dropout disagree, for few labels; 0 is one pass."""
    statistics: int = 16
    """Training batches, an epoch at most, that BatchNorm's statistics are made of at each validation; 0 keeps running
    ones.
    """
    tensorboard: bool = False
    """Write TensorBoard's files too."""
    wandb: bool = False
    """Report to Weights & Biases too."""
    mlflow: bool = False
    """Report to MLflow too."""
    amp: Literal["off", "bf16"] = "off"
    """Mixed precision; FFTs and sparse products stay in float32."""
    deterministic: bool = False
    """Refuse operations of torch that may differ from run to run (on GPUs; CPU results are equal anyway)."""
    device: str = "auto"
    """cpu, cuda, cuda:1, or auto: the first GPU if there is one."""
    threads: int = 0
    """CPU threads; 0 is torch's choice. Results are equal bit by bit only for an equal number."""

    def __post_init__(self) -> None:
        """Check ranges."""
        _least("train", self, epochs=1, patience=0, eval_every=1, save_every=1, keep=2, statistics=0, threads=0)
        if not 0 <= self.consistency <= 1e30:
            raise UsageError(f"--train.consistency must be a finite number 0 or more, got {self.consistency}")


@dataclass(frozen=True)
class Config:
    """Everything a run depends on."""

    data: DataConfig = field(default_factory=DataConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    optim: OptimConfig = field(default_factory=OptimConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    seed: int = 0
    """Of weights, dropout, batches and node orders."""
    init_from: str = ""
    """Run whose weights it starts from."""

    def to_json(self) -> dict[str, Any]:
        """Return plain types."""
        found: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(self)))
        return found


def _attends(model: ModelConfig) -> bool:
    mixer = model.context if model.mixer == "cascade" else model.mixer
    return model.name == "hybrid" and mixer == "attention"


def _least(section: str, config: Any, **least: int) -> None:
    for name, low in least.items():
        if getattr(config, name) < low:
            raise UsageError(
                f"--{section}.{name.replace('_', '-')} must be at least {low}, got {getattr(config, name)}"
            )
