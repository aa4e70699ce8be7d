"""Layers. Start with `GECOConv`; `geco.nn.functional` holds the operators, `geco.nn.reference` their slow twins."""

from geco.nn.blocks import FeedForward, LocalPropagation
from geco.nn.conv import GECOConv, GECOLayer, GlobalContext
from geco.nn.explain import SurrogateAttention
from geco.nn.filters import ImplicitFilter, MeanFilter, PaperFilter, WindowedFilter
from geco.nn.gps.layer import GPSLayer
from geco.nn.model import GECO

__all__ = [
    "GECO",
    "FeedForward",
    "GECOConv",
    "GECOLayer",
    "GPSLayer",
    "GlobalContext",
    "ImplicitFilter",
    "LocalPropagation",
    "MeanFilter",
    "PaperFilter",
    "SurrogateAttention",
    "WindowedFilter",
]
