"""What can be chosen by name, and where it is made: a line here and the code it points to add one (CONTRIBUTING.md).

Settings, `--help` and the builders read these tables, and `pkgutil.resolve_name` imports what a name stands for when
it is made. Nothing here imports torch.
"""

from __future__ import annotations

import difflib

from geco.errors import UsageError

__all__ = ["BASELINES", "ENCODINGS", "LOCALS", "MIXERS", "encoding"]

# --model.name: called with (in_channels, hidden_channels, num_layers, dropout, heads), and settings by keyword
BASELINES = {
    "mlp": "geco.nn.baselines.models:mlp",
    "gcn": "geco.nn.baselines.models:gcn",
    "gcn-pyg": "geco.nn.baselines.models:gcn_pyg",
    "sage": "geco.nn.baselines.models:sage",
    "gat": "geco.nn.baselines.models:gat",
    "gin": "geco.nn.baselines.models:gin",
    "gatedgcn": "geco.nn.baselines.models:gatedgcn",
    "transformer": "geco.nn.baselines.transformers:TransformerStack",
    "hyena": "geco.nn.baselines.transformers:HyenaStack",
    "gps": "geco.nn.baselines.models:gps",
    "gps-performer": "geco.nn.baselines.models:gps_performer",
    "sgformer": "geco.nn.baselines.models:SGFormerBody",
    "polynormer": "geco.nn.baselines.models:PolynormerBody",
}
LOCALS = {  # --model.local: called with the width, and what it takes of `geco.nn.gps.local.make_local`'s options
    "gatedgcn": "geco.nn.gps.local:gatedgcn",
    "gine": "geco.nn.gps.local:gine",
    "gcn": "geco.nn.gps.local:gcn",
    "gat": "geco.nn.gps.local:gat",
    "pna": "geco.nn.gps.local:pna",
}
MIXERS = {  # --model.mixer: called with the width, and settings by keyword
    "geco": "geco.nn.conv:GECOConv",
    "attention": "geco.nn.gps.attention:SelfAttention",
    "performer": "geco.nn.gps.attention:Performer",
    "hyena": "geco.nn.gps.hyena:Hyena",
    "exphormer": "geco.nn.gps.exphormer:Exphormer",
    "virtual-node": "geco.nn.gps.virtual_node:VirtualNode",
    "cascade": "geco.nn.gps.ablation:Cascade",
}
ENCODINGS = {  # --data.encodings: called with the size, if one is given
    "lap-pe": "geco.data.encodings.laplacian:LaplacianEigenvectors",
    "lap-pe-values": "geco.data.encodings.laplacian:as_in_graphgps",
    "rwse": "geco.data.encodings.random_walk:RandomWalk",
    "degree": "geco.data.encodings.degree:Degree",
    "adj-svd": "geco.data.encodings.relative:AdjacencySVD",
    "rel-adjacency": "geco.data.encodings.relative:rel_adjacency",
    "rel-shortest-path": "geco.data.encodings.relative:rel_shortest_path",
    "rel-diffusion": "geco.data.encodings.relative:rel_diffusion",
}


def encoding(text: str) -> tuple[str, int | None]:
    """Return an encoding's name and its size, None if none is given.

    Example:
        >>> encoding("lap-pe:4"), encoding("rwse")
        (('lap-pe', 4), ('rwse', None))
        >>> encoding("lappe")
        Traceback (most recent call last):
        geco.errors.UsageError: no encoding is called 'lappe'; did you mean lap-pe? There are lap-pe, ...
    """
    name, colon, size = text.partition(":")
    if name not in ENCODINGS:
        near = difflib.get_close_matches(name.lower().replace("_", "-"), ENCODINGS, 1, 0.5)
        hint = f"did you mean {near[0]}? " if near else ""
        raise UsageError(f"no encoding is called {name!r}; {hint}There are {', '.join(ENCODINGS)}")
    if colon and not (size.isascii() and size.isdigit()):
        raise UsageError(f"the size of an encoding is a whole number, such as {name}:8; got {text!r}")
    return name, int(size) if colon else None
