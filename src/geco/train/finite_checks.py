"""Stop at the first number that is not finite, before it reaches the weights or the disk, and say where it came
from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from geco.errors import NumericalError

__all__ = ["blame", "check_weights", "gradient_norm"]


def blame(model: nn.Module, data: Any) -> str:
    """Name the first module whose output is not finite.

    Example:
        >>> layer = nn.Sequential(nn.Linear(1, 1))
        >>> blame(layer, torch.tensor([[torch.inf]]))
        'the output of 0 is not finite, the first such'
    """
    found: list[str] = []

    def look(name: str) -> Callable[..., None]:
        def hook(_module: nn.Module, _inputs: Any, output: Any) -> None:
            if isinstance(output, Tensor) and not bool(output.isfinite().all()):
                found.append(name)

        return hook

    handles = [module.register_forward_hook(look(name)) for name, module in model.named_modules() if name]
    try:
        with torch.no_grad():
            model(data)
    finally:
        for handle in handles:
            handle.remove()
    return f"the output of {found[0]} is not finite, the first such" if found else "outputs are finite, a target is not"


def gradient_norm(model: nn.Module, where: str) -> Tensor:
    """Return the norm of the whole gradient, or refuse one that is not finite, naming the weights it belongs to."""
    grads = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    norm = nn.utils.get_total_norm(grads.values())
    if not bool(norm.isfinite()):
        bad = ", ".join([name for name, grad in grads.items() if not bool(grad.isfinite().all())][:3])
        raise NumericalError(f"the gradient of {bad or 'all weights'} is not finite in {where}; lower --optim.lr")
    return norm


def check_weights(arrays: Mapping[str, Tensor], where: str) -> None:
    """Refuse to keep arrays that are not finite."""
    bad = [name for name, value in arrays.items() if value.is_floating_point() and not bool(value.isfinite().all())]
    if bad:
        raise NumericalError(
            f"{', '.join(bad[:3])} {'is' if len(bad) == 1 else 'are'} not finite in {where}; it was not saved, "
            "checkpoints "
            "before it are kept; lower --optim.lr"
        )
