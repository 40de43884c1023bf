"""One trajectory under optimisation, with its optimiser."""

import torch
from jaxtyping import Float
from torch import Tensor

from akd.adam import Adam
from akd.distill.recipe import Recipe
from akd.distill.trajectory import Trajectory
from akd.errors import AkdError

ADAM_STATE = ("step", "exp_avg", "exp_avg_sq")
"""What Adam keeps of every parameter."""


class Candidate:
    """A trajectory and its Adam state. Several are optimised side by side until the prior decides between them."""

    def __init__(self, trajectory: Trajectory) -> None:
        self.trajectory = trajectory
        # Adam's ε is set to the size of the first gradient (see ``descend``), so that channels with a small gradient move
        # little instead of as fast as all others.
        self.optimiser = Adam(trajectory.parameters(), betas=(0.9, 0.99))

    def descend(self, total: Float[Tensor, ""], recipe: Recipe, iteration: int) -> None:
        """One step of the optimiser on a total loss."""
        self.optimiser.zero_grad()
        total.backward()
        for name, value in self.trajectory.named_parameters():
            if value.grad is not None and not value.grad.isfinite().all():
                raise AkdError(f"The gradient of {name} is not finite at iteration {iteration}: use a lower learning rate.")
        if not self.optimiser.state:
            gradient = self.trajectory.curves.coefficients.grad
            self.optimiser.eps = gradient.square().mean().sqrt().item() if gradient is not None else 0.0
        self.optimiser.step(recipe.rate(iteration))

    def reset_momentum(self) -> None:
        """Drop Adam's first moments, after the trajectory was changed by other means."""
        for state in self.optimiser.state.values():
            state["exp_avg"].zero_()

    def tensors(self) -> dict[str, Tensor]:
        """The whole state, Adam's ε included because it is measured at the first step."""
        tensors = {f"trajectory.{name}": part.detach() for name, part in self.trajectory.state_dict().items()}
        for name, value in self.trajectory.named_parameters():
            tensors |= {f"adam.{name}.{key}": part for key, part in self.optimiser.state.get(value, {}).items()}
        return tensors | {"eps": torch.tensor(self.optimiser.eps, dtype=torch.float64)}

    @torch.no_grad()
    def load(self, tensors: dict[str, Tensor]) -> None:
        """Go on from what ``tensors`` returned."""
        self.trajectory.load_state_dict({name: tensors[f"trajectory.{name}"] for name in self.trajectory.state_dict()})
        for name, value in self.trajectory.named_parameters():
            if f"adam.{name}.step" in tensors:
                self.optimiser.state[value] = {key: tensors[f"adam.{name}.{key}"] for key in ADAM_STATE}
        self.optimiser.eps = float(tensors["eps"])
