"""Settings of the simulation (PD gains, contact, assist torque, gradient clipping) and the contact force they define.

All are free of units, so that they suit a spider and a sauropod alike: forces in body weights m g, lengths in leg lengths ℓ,
times in √(ℓ/g). With ℓ = 1 m a time unit is 0.32 s and a speed unit 3.1 m/s; a 30 kg animal of that size with
k_e = 300 N m/rad and k_d = 10 N m s has stiffness 1, damping 0.1.
"""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from akd.character.articulation import Articulation
from akd.errors import AkdError

ClipMode = Literal["none", "global", "chunk"]


@dataclass(frozen=True)
class PhysicsSettings:
    """PD gains, contact, assist torque and gradient clipping of a simulation."""

    substeps: int = 20
    """Steps of the simulation from one frame to the next."""
    stiffness: float = 1.0
    """PD gain k_e of every joint [m g ℓ/rad]."""
    damping: float = 0.1
    """PD gain k_d of every joint [m g ℓ √(ℓ/g)]."""
    contact_stiffness: float = 300.0
    """Normal force per depth of each contact point [m g/ℓ]."""
    contact_damping: float = 5.0
    """Hunt–Crossley damping: how much the normal force grows with the speed of approach [1/√(g ℓ)]."""
    friction: float = 0.9
    """Coefficient μ of dry friction."""
    stiction_speed: float = 0.003
    """Regularises Coulomb friction: slip speed at which 71 % of it acts [√(g ℓ)]."""
    assist_stiffness: float = 0.0
    """Of the assist torque, a virtual spring that keeps the root's up direction up; 0 switches it off [m g ℓ/rad]."""
    assist_damping: float = 0.3
    """Its damping, as a share of its stiffness [√(ℓ/g)]."""
    chunk: int = 20
    """Steps that are differentiated at a time; gradients are clipped in between."""
    clip_norm: float = 3.0
    """Largest norm of a gradient; longer ones are scaled down to it."""
    clip_mode: ClipMode = "chunk"
    """Clip the gradient of the state between chunks, only the final gradients ("global"), or nothing."""

    def __post_init__(self) -> None:
        for name in ("substeps", "chunk", "stiction_speed", "clip_norm"):
            if not getattr(self, name) > 0:
                raise AkdError(f"{name} must be positive, not {getattr(self, name)}.")


class Constants(NamedTuple):
    """The same numbers in the units of a body's simulation: ℓ, s, and its mass."""

    step: float
    stiffness: float
    damping: float
    contact_stiffness: float
    contact_damping: float
    friction: float
    stiction_speed: float
    assist_stiffness: float
    assist_damping: float
    gravity: float


def constants(body: Articulation, settings: PhysicsSettings, fps: float) -> Constants:
    """The settings in the units of this body's simulation."""
    g = body.gravity
    return Constants(
        step=1 / (fps * settings.substeps),
        stiffness=settings.stiffness * g,
        damping=settings.damping * g**0.5,
        contact_stiffness=settings.contact_stiffness * g,
        contact_damping=settings.contact_damping / g**0.5,
        friction=settings.friction,
        stiction_speed=settings.stiction_speed * g**0.5,
        assist_stiffness=settings.assist_stiffness * g,
        assist_damping=settings.assist_stiffness * settings.assist_damping * g**0.5,
        gravity=g,
    )


def suitable_substeps(body: Articulation, fps: float) -> int:
    """Enough steps per frame for a body of this size: small ones fall and swing fast, and need 25 steps in √(ℓ/g)."""
    return max(PhysicsSettings.substeps, math.ceil(25 * body.gravity**0.5 / fps))


def contact_force(
    height: Float[Tensor, "*batch"], velocity: Float[Tensor, "*batch 3"], c: Constants
) -> tuple[Float[Tensor, "*batch 3"], Float[Tensor, "*batch 3"]]:
    """Contact force on a point and its resistance: at the end of the step it is ``force − resistance · Δvelocity``.

    Normal force (Hunt–Crossley) ``k d (1 − c v_y)`` and friction ``−μ f_n v / √(v² + v_ε²)``, both taken where the point
    will be one step later, to first order in its change of velocity. The slip speed √(v² + v_ε²) is that of now: so
    the coefficient of the linear law stays positive, and a step can slow a point but never throw it back.
    """
    normal_velocity, slip = velocity[..., 1], velocity[..., (0, 2)]
    depth = (-height - c.step * normal_velocity).clamp(min=0)
    damping_factor = (1 - c.contact_damping * normal_velocity).clamp(min=0)
    normal = c.contact_stiffness * depth * damping_factor
    in_contact = ((depth > 0) & (damping_factor > 0)).to(height)
    resistance = in_contact * c.contact_stiffness * (c.step * damping_factor + c.contact_damping * depth)
    drag = c.friction * normal / torch.sqrt(slip.square().sum(-1) + c.stiction_speed**2)
    force = torch.stack((-drag * velocity[..., 0], normal, -drag * velocity[..., 2]), -1)
    return force, torch.stack((drag, resistance, drag), -1)
