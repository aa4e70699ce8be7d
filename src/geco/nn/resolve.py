"""Names of layers to layers, with errors that say what there is."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from torch import Tensor, nn

__all__ = ["accepted", "build", "call", "check_name", "keywords", "reset"]

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
    """Return those of the given things that a function names among its arguments (all of them if it takes any).

    Example:
        >>> accepted(nn.Linear(2, 3).forward, {"input": 1, "batch": 2})
        {'input': 1}
    """
    parameters = inspect.signature(function).parameters
    takes_any = any(p.kind == p.VAR_KEYWORD for p in parameters.values())
    return {name: value for name, value in known.items() if takes_any or name in parameters}


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
