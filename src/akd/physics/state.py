"""Coordinates and velocities of a body. Torch, any leading batch axes, all of it differentiable."""

from dataclasses import dataclass, fields

import torch
from jaxtyping import Float
from torch import Tensor

from akd.character.articulation import Articulation
from akd.rotations import quaternion_conjugate, quaternion_multiply, quaternion_to_rotation_vector
from akd.skeleton import Pose


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
