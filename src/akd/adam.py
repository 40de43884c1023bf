"""Adam without the import of torch's compiler."""

from collections.abc import Iterable

import torch
from torch import Tensor


class Adam:
    """Adam (Kingma and Ba 2015), equal to ``torch.optim.Adam`` bit by bit.

    That one imports torch's compiler when it is made, which takes over a second of every run and is of no use here.
    """

    def __init__(self, parameters: Iterable[Tensor], *, betas: tuple[float, float], eps: float = 1e-8) -> None:
        self.parameters = list(parameters)
        self.betas = betas
        self.eps = eps
        self.state: dict[Tensor, dict[str, Tensor]] = {}
        """Of every parameter that has had a gradient: ``step``, ``exp_avg`` and ``exp_avg_sq``, as torch calls them."""

    def zero_grad(self) -> None:
        """Forget all gradients."""
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self, rate: float) -> None:
        """Move every parameter that has a gradient, at this learning rate."""
        first, second = self.betas
        for parameter in self.parameters:
            if (gradient := parameter.grad) is None:
                continue
            zeros = torch.zeros_like(parameter)
            state = self.state.setdefault(parameter, {"step": torch.tensor(0.0), "exp_avg": zeros, "exp_avg_sq": zeros.clone()})
            state["step"] += 1
            count = state["step"].item()
            mean = state["exp_avg"].lerp_(gradient, 1 - first)
            square = state["exp_avg_sq"].mul_(second).addcmul_(gradient, gradient, value=1 - second)
            spread = (square.sqrt() / (1 - second**count) ** 0.5).add_(self.eps)
            parameter.addcdiv_(mean, spread, value=-(rate / (1 - first**count)))
