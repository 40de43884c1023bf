"""The ground: how it pushes on a touching point, and how hard it pushed in a simulated motion."""

import torch
from jaxtyping import Float
from torch import Tensor

from akd.physics.settings import Constants


def reaction(
    height: Float[Tensor, "*batch"], velocity: Float[Tensor, "*batch 3"], c: Constants
) -> tuple[Float[Tensor, "*batch 3"], Float[Tensor, "*batch 3"]]:
    """Force on a point, and how much it gives way: at the end of the step it is ``force − give · Δvelocity``.

    Normal force (Hunt–Crossley) ``k d (1 − c v_y)`` and friction ``−μ f_n v / √(v² + v_ε²)``, both taken where the point
    will be one step later, to first order in its change of velocity. The share of friction used is that of now: so the
    friction coefficient of the linear law stays positive, and a step can slow a point but never throw it back.
    """
    rise, along = velocity[..., 1], velocity[..., (0, 2)]
    depth = (-height - c.step * rise).clamp(min=0)
    eager = (1 - c.ground_damping * rise).clamp(min=0)
    normal = c.ground_stiffness * depth * eager
    touches = ((depth > 0) & (eager > 0)).to(height)
    give = touches * c.ground_stiffness * (c.step * eager + c.ground_damping * depth)
    drag = c.friction * normal / torch.sqrt(along.square().sum(-1) + c.creep**2)
    force = torch.stack((-drag * velocity[..., 0], normal, -drag * velocity[..., 2]), -1)
    return force, torch.stack((drag, give, drag), -1)
