"""Constants of the simulation, free of units, so that they suit a spider and a sauropod alike.

Forces are in body weights m g, lengths in leg lengths ℓ, times in √(ℓ/g). With ℓ = 1 m a time unit is 0.32 s and a
speed unit 3.1 m/s; a 30 kg animal of that size with k_e = 300 N m/rad and k_d = 10 N m s has stiffness 1, damping 0.1.

The ground: how it pushes on a touching point, and how hard it pushed in a simulated motion.
"""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from akd.character.articulation import Articulation
from akd.errors import AkdError

Clip = Literal["none", "global", "chunk"]


@dataclass(frozen=True)
class PhysicsSettings:
    """How the world pushes back, how strong the muscles are, and how gradients are kept from exploding."""

    substeps: int = 20
    """Steps of the simulation from one frame to the next."""
    stiffness: float = 1.0
    """Of every joint's controller, k_e [m g ℓ/rad]."""
    damping: float = 0.1
    """Of every joint's controller, k_d [m g ℓ √(ℓ/g)]."""
    ground_stiffness: float = 300.0
    """Normal force per depth of each touching point [m g/ℓ]."""
    ground_damping: float = 5.0
    """How much harder the ground pushes against approach (Hunt–Crossley) [1/√(g ℓ)]."""
    friction: float = 0.9
    """Coefficient μ of dry friction."""
    creep: float = 0.003
    """Speed at which a point in contact has used up most of its friction [√(g ℓ)]."""
    upright: float = 0.0
    """Virtual spring that keeps the root's up direction up: a crutch, off unless asked for [m g ℓ/rad]."""
    upright_damping: float = 0.3
    """Its damping, as a share of its stiffness [√(ℓ/g)]."""
    chunk: int = 20
    """Steps that are differentiated at a time; gradients are clipped in between."""
    clip: float = 3.0
    """Greatest norm of a gradient that may pass."""
    clip_mode: Clip = "chunk"
    """Clip the gradient of the state between chunks, only the final gradients ("global"), or nothing."""

    def __post_init__(self) -> None:
        for name in ("substeps", "chunk", "creep", "clip"):
            if not getattr(self, name) > 0:
                raise AkdError(f"{name} must be positive, not {getattr(self, name)}.")


class Constants(NamedTuple):
    """The same numbers in the units of a body's simulation: ℓ, s, and its mass."""

    step: float
    stiffness: float
    damping: float
    ground_stiffness: float
    ground_damping: float
    friction: float
    creep: float
    upright: float
    upright_damping: float
    gravity: float


def constants(body: Articulation, settings: PhysicsSettings, fps: float) -> Constants:
    """What the settings mean for this body."""
    g = body.gravity
    return Constants(
        step=1 / (fps * settings.substeps),
        stiffness=settings.stiffness * g,
        damping=settings.damping * g**0.5,
        ground_stiffness=settings.ground_stiffness * g,
        ground_damping=settings.ground_damping / g**0.5,
        friction=settings.friction,
        creep=settings.creep * g**0.5,
        upright=settings.upright * g,
        upright_damping=settings.upright * settings.upright_damping * g**0.5,
        gravity=g,
    )


def suitable_substeps(body: Articulation, fps: float) -> int:
    """Enough steps per frame for a body of this size: small ones fall and swing fast, and need 25 steps in √(ℓ/g)."""
    return max(PhysicsSettings.substeps, math.ceil(25 * body.gravity**0.5 / fps))


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
