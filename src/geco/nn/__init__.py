"""Layers. Start with `GECOConv`; `geco.nn.functional` holds the operators, `geco.nn.reference` their slow twins."""

from geco.nn.attention import SurrogateAttention
from geco.nn.blocks import FeedForward, GlobalContext, LocalPropagation
from geco.nn.conv import GECOConv, GECOLayer
from geco.nn.filters import ImplicitFilter
from geco.nn.hybrid import GPSLayer
from geco.nn.model import GECO
from geco.nn.paper_filter import PaperFilter

__all__ = [
    "GECO",
    "FeedForward",
    "GECOConv",
    "GECOLayer",
    "GPSLayer",
    "GlobalContext",
    "ImplicitFilter",
    "LocalPropagation",
    "PaperFilter",
    "SurrogateAttention",
]
