"""Names of layers to layers, with errors that say what there is."""

from __future__ import annotations

import copy
import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from torch import Tensor, nn
from torch_geometric.nn.resolver import activation_resolver, normalization_resolver

__all__ = [
    "accepted",
    "activation",
    "build",
    "call",
    "check_name",
    "check_one_width",
    "keywords",
    "norm_layer",
    "normed",
    "reset",
]

MOST_ORDER = 8  # the paper has 2
T = TypeVar("T")


def check_name(kind: str, name: object, known: Iterable[str]) -> None:
    """Refuse a name that is not known, with the nearest one that is.

    Example:
        >>> check_name("mixer", "atention", ["geco", "attention"])
        Traceback (most recent call last):
        ValueError: mixer 'atention' is not known, did you mean 'attention'? There are geco, attention
    """
    names = list(known)
    if name in names:
        return
    near = difflib.get_close_matches(str(name).lower(), names, 1)
    hint = f", did you mean {near[0]!r}?" if near else "."
    raise ValueError(f"{kind} {name!r} is not known{hint} There are {', '.join(names)}")


def check_one_width(layer: nn.Module, channels: int, order: int) -> None:
    """Refuse an order that is the second width of PyG's layers.

    Example:
        >>> check_one_width(nn.Identity(), 64, 64)
        Traceback (most recent call last):
        ValueError: Identity has one width, then the order (K convolutions, up to 8), got 64 and 64; ...
    """
    if order > MOST_ORDER or order == channels == MOST_ORDER:
        name = type(layer).__name__
        raise ValueError(
            f"{name} has one width, then the order (K convolutions, up to {MOST_ORDER}), got {channels} and {order}; "
            f"what comes out is as wide as what goes in: {name}({channels})"
        )


def build(name: str, make: Callable[..., T], *args: Any, options: Mapping[str, Any]) -> T:
    """Return ``make(*args, **options)``; an option it does not have raises a ValueError that names those it has.

    Example:
        >>> build("linear", nn.Linear, 2, 3, options={"biass": False})
        Traceback (most recent call last):
        ValueError: 'linear' has no option 'biass'; it has bias, device, dtype
    """
    allowed = list(inspect.signature(make).parameters)[len(args) :]
    wrong = [option for option in options if option not in allowed]
    if wrong:
        raise ValueError(f"{name!r} has no option {wrong[0]!r}; it has {', '.join(allowed)}")
    return make(*args, **options)


def accepted(function: Callable[..., Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the given things that a function names among its arguments (all of them if it takes any), but for
    those that it refuses: ``edge_attr: None`` is there to say so.

    Example:
        >>> accepted(nn.Linear(2, 3).forward, {"input": 1, "batch": 2})
        {'input': 1}
    """
    parameters = inspect.signature(function).parameters
    takes_any = any(p.kind == p.VAR_KEYWORD for p in parameters.values())
    named = {name for name, p in parameters.items() if p.annotation not in (None, "None")}
    return {name: value for name, value in known.items() if takes_any or name in named}


def keywords(make: Callable[..., Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the given things that a function names as its keyword-only arguments.

    Example:
        >>> keywords(sorted, {"key": len, "iterable": [], "hidden": 8})
        {'key': <built-in function len>}
    """
    parameters = inspect.signature(make).parameters
    return {name: known[name] for name, p in parameters.items() if p.kind == p.KEYWORD_ONLY and name in known}


def call(module: nn.Module, x: Tensor, **known: Any) -> Tensor:
    """Call a module with x and those of the given things that its ``forward`` names (all of them if it takes any).

    Example:
        >>> call(nn.Identity(), Tensor([1.0]), batch=None)
        tensor([1.])
    """
    out: Tensor = module(x, **accepted(module.forward, known))
    return out


def reset(module: nn.Module) -> None:
    """Reset the weights of a module: by its own ``reset_parameters``, else by those of its parts."""
    if hasattr(module, "reset_parameters"):
        module.reset_parameters()  # type: ignore[operator]
    else:
        for child in module.children():
            reset(child)


def activation(act: str | Callable[..., Any] | None, **options: Any) -> nn.Module:
    """Return an activation as a module: from a name PyG's resolver knows, a class, a function, a module, or None.

    Example:
        >>> activation("leaky_relu", negative_slope=0.1), activation(None)
        (LeakyReLU(negative_slope=0.1), Identity())
    """
    if act is None:
        return nn.Identity()
    found = act(**options) if isinstance(act, type) else activation_resolver(act, **options)
    return found if isinstance(found, nn.Module) else _Function(found)


class _Function(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.function(x)
        return y

    def extra_repr(self) -> str:
        return getattr(self.function, "__name__", repr(self.function))


def norm_layer(
    norm: str | Callable[..., Any] | None, channels: int, own: Mapping[str, type[nn.Module]], **options: Any
) -> nn.Module | None:
    """Return a norm of so many channels: from a name, a class, or a module, which is copied; None for None.

    PyG's own "layer_norm" normalises over a whole graph; the paper's is over a node's channels. So layers have a few
    names of their own.

    Args:
        norm: what is asked for.
        channels: D.
        own: classes of a layer's own names; PyG's resolver has the others.
        options: of a name or a class.

    Example:
        >>> norm_layer("graph_norm", 4, {}), type(norm_layer("layer_norm", 4, {"layer_norm": nn.LayerNorm})).__module__
        (GraphNorm(4), 'torch.nn.modules.normalization')
    """
    if norm is None:
        return None
    make = own.get(norm, norm) if isinstance(norm, str) else norm
    found = make(channels, **options) if isinstance(make, type) else normalization_resolver(make, channels, **options)
    if not isinstance(found, nn.Module):
        raise ValueError(f"norm must be a name, a class, a module or None, got {norm!r}")
    return copy.deepcopy(found) if found is norm else found


def normed(norm: nn.Module | None, x: Tensor, batch: Tensor | None) -> Tensor:
    """Return ``norm(x)``, each graph of a batch by itself if the norm knows graphs; x for None."""
    if norm is None or isinstance(norm, nn.LayerNorm):
        return x if norm is None else norm(x)
    known = {"batch": None if batch is None else batch.long()}
    out: Tensor = norm(x, **accepted(norm.forward, known))
    return out
