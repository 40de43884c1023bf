"""Constants of the simulation, free of units so that they suit a spider and a sauropod alike, and the state that changes."""

import math
from dataclasses import dataclass, fields
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from akd.character.articulation import Articulation
from akd.errors import AkdError
from akd.rotations import quaternion_conjugate, quaternion_multiply, quaternion_to_rotation_vector
from akd.skeleton import Pose

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


@dataclass(frozen=True, eq=False)
class State:
    """Coordinates and velocities of a body's links. Row 0 of ``angles`` and ``rates`` (the root's) is not used."""

    position: Float[Tensor, "*batch 3"]
    """Where the root joint is on the stage [ℓ]."""
    rotation: Float[Tensor, "*batch 4"]
    """Rotation of the root from rest, a unit quaternion, wxyz."""
    angles: Float[Tensor, "*batch link 3"]
    """The same angles as in ``Pose``, for the joints that links turn about [rad]."""
    velocity: Float[Tensor, "*batch 3"]
    """Of the root joint, on the stage [ℓ/s]."""
    spin: Float[Tensor, "*batch 3"]
    """Angular velocity of the root in stage axes [rad/s]."""
    rates: Float[Tensor, "*batch link 3"]
    """How fast the angles change [rad/s]."""

    def __getitem__(self, index) -> "State":
        """Index the batch axes."""
        return State(*(value[index] for value in self))

    def __iter__(self):
        """The six tensors in the order of the fields."""
        return iter([getattr(self, field.name) for field in fields(self)])

    def detach(self) -> "State":
        return State(*(value.detach() for value in self))

    def to(self, dtype: torch.dtype) -> "State":
        return State(*(value.to(dtype) for value in self))


def state_at_rest(body: Articulation, pose: Pose) -> State:
    """The body in a pose of its skeleton, not moving. Joints that were merged into others are left out."""
    rotation = pose.root_rotation / pose.root_rotation.norm(dim=-1, keepdim=True)
    angles = pose.angles[..., torch.as_tensor(body.joints), :]
    still = torch.zeros_like(pose.root_position)
    return State(pose.root_position, rotation, angles, still, still.clone(), torch.zeros_like(angles))


def with_velocity(here: State, there: State, seconds: float) -> State:
    """The first state, moving so that it would be in the second after so many seconds."""
    turn = quaternion_multiply(there.rotation, quaternion_conjugate(here.rotation))
    return State(
        here.position, here.rotation, here.angles,
        (there.position - here.position) / seconds, quaternion_to_rotation_vector(turn) / seconds,
        (there.angles - here.angles) / seconds,
    )  # fmt: skip


def pose_of(body: Articulation, state: State, merged: Float[Tensor, "*batch joint 3"] | None = None) -> Pose:
    """The skeleton's pose in a state; joints that are not simulated take their angles from ``merged``, or stay straight."""
    batch = state.position.shape[:-1]
    if merged is None:
        merged = state.angles.new_zeros(*batch, len(body.link_of_joint), 3)
    simulated = torch.as_tensor(body.joints)
    return Pose(state.position, state.rotation, merged.index_copy(-2, simulated, state.angles))
