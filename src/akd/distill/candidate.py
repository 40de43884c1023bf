"""One motion on its way: the trajectory, and the optimiser that moves it."""

import torch
from jaxtyping import Float
from torch import Tensor

from akd.distill.recipe import Recipe
from akd.distill.trajectory import Trajectory
from akd.errors import AkdError

ADAM_STATE = ("step", "exp_avg", "exp_avg_sq")
"""What Adam remembers of every parameter."""


class Candidate:
    """A trajectory and Adam's memory of it. Several may be on their way until the prior has decided between them."""

    def __init__(self, trajectory: Trajectory) -> None:
        self.trajectory = trajectory
        # A step is in proportion to the gradient where that is small (see ``descend``): what hardly shows hardly moves.
        self.optimiser = torch.optim.Adam(trajectory.parameters(), betas=(0.9, 0.99))

    def descend(self, total: Float[Tensor, ""], recipe: Recipe, iteration: int) -> None:
        """One step of the optimiser."""
        self.optimiser.zero_grad()
        total.backward()
        for name, value in self.trajectory.named_parameters():
            if value.grad is not None and not value.grad.isfinite().all():
                raise AkdError(f"The gradient of {name} is not finite at iteration {iteration}: use a lower learning rate.")
        if not self.optimiser.state:
            slope = self.trajectory.curves.coefficients.grad
            usual = slope.square().mean().sqrt().item() if slope is not None else 0.0
            for group in self.optimiser.param_groups:
                group["eps"] = usual
        for group in self.optimiser.param_groups:
            group["lr"] = recipe.rate(iteration)
        self.optimiser.step()

    def forget_direction(self) -> None:
        """Drop what Adam remembers of the way it went: the trajectory has changed under it."""
        for memory in self.optimiser.state.values():
            memory["exp_avg"].zero_()

    def tensors(self) -> dict[str, Tensor]:
        """The whole state. Adam's ε is measured at the first step, so it is part of it."""
        tensors = {f"trajectory.{name}": part.detach() for name, part in self.trajectory.state_dict().items()}
        for name, value in self.trajectory.named_parameters():
            tensors |= {f"adam.{name}.{key}": part for key, part in self.optimiser.state.get(value, {}).items()}
        return tensors | {"eps": torch.tensor(self.optimiser.param_groups[0]["eps"], dtype=torch.float64)}

    @torch.no_grad()
    def load(self, tensors: dict[str, Tensor]) -> None:
        """Go on from what ``tensors`` gave."""
        self.trajectory.load_state_dict({name: tensors[f"trajectory.{name}"] for name in self.trajectory.state_dict()})
        for name, value in self.trajectory.named_parameters():
            if f"adam.{name}.step" in tensors:
                self.optimiser.state[value] = {key: tensors[f"adam.{name}.{key}"] for key in ADAM_STATE}
        for group in self.optimiser.param_groups:
            group["eps"] = float(tensors["eps"])
