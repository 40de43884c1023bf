"""One rig's forward kinematics in bends, with the Jacobian written down: what inverse kinematics needs, quickly.

Inverse kinematics inside the plausible set.

Gauss–Newton steps pull handles to their targets; what they leave open follows the denoiser and the covariance C of the
rig's own poses:

    x ← x̂ + C Jᵀ (J C Jᵀ + ε²)⁻¹ (c − f(x) − J (x̂ − x)),      x̂ the denoiser's opinion of x

A polish without the opinion then meets the handles exactly: ``x ← x + C Jᵀ (J C Jᵀ + λ)⁻¹ (c − f(x))``.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from akd.errors import AkdError
from akd.posespace.denoiser import Denoiser, Poses
from akd.posespace.network import handle_inputs, level
from akd.posespace.representation import RotationVectors, vector_matrices
from akd.rotations import matrix_to_quaternion, quaternion_to_matrix, quaternion_to_rotation_vector
from akd.skeleton import Skeleton, compose


class Placed(NamedTuple):
    """Where joints are: turn away from rest and place on the stage."""

    rotation: Float[Tensor, "pose joint 3 3"]
    position: Float[Tensor, "pose joint 3"]


@dataclass(frozen=True, eq=False)
class Chains:
    """A skeleton's tree as tensors."""

    skeleton: Skeleton
    frames: Float[Tensor, "joint 3 3"]
    is_ancestor: Bool[Tensor, "joint joint"]
    """``[a, j]``, j itself included."""

    @classmethod
    def of(cls, skeleton: Skeleton) -> "Chains":
        return cls(skeleton, torch.as_tensor(skeleton.frames, dtype=torch.float32), torch.as_tensor(skeleton.is_ancestor))

    def place(self, bends: Poses, root: Float[Tensor, "pose 3"]) -> Placed:
        frames = self.frames.to(bends.dtype)
        return Placed(*compose(self.skeleton, root, frames @ vector_matrices(bends) @ frames.transpose(-1, -2)))

    def point_jacobian(
        self, bends: Poses, placed: Placed, joints: Int[Tensor, " handle"], points: Float[Tensor, "pose handle 3"]
    ) -> Float[Tensor, "pose handle 3 joint 3"]:
        """``∂ point / ∂ x`` of points that move with joints: ``axis × arm`` for every joint above."""
        arm = points[:, :, None] - placed.position[:, None]
        axes = self._axes(bends, placed)
        moved = torch.linalg.cross(axes[:, None].transpose(-1, -2), arm[..., None, :].expand(*arm.shape[:-1], 3, 3), dim=-1)
        return torch.where(self._above(joints)[None, :, None, :, None], moved.permute(0, 1, 4, 2, 3), moved.new_zeros(()))

    def turn_jacobian(
        self, bends: Poses, placed: Placed, joints: Int[Tensor, " handle"]
    ) -> Float[Tensor, "pose handle 3 joint 3"]:
        """``∂ turn / ∂ x`` of joints, as rotation vectors on the stage."""
        axes = self._axes(bends, placed)[:, None].expand(-1, len(joints), -1, -1, -1)
        return torch.where(self._above(joints)[None, :, None, :, None], axes.permute(0, 1, 3, 2, 4), axes.new_zeros(()))

    def _above(self, joints: Int[Tensor, " handle"]) -> Bool[Tensor, "handle joint"]:
        """Which joints move the handles."""
        return self.is_ancestor[:, joints].T

    def _axes(self, bends: Poses, placed: Placed) -> Float[Tensor, "pose joint 3 3"]:
        """Columns are the stage axes about which a joint turns when its three numbers grow: ``Q_j B_j J_r(x)``."""
        return placed.rotation @ self.frames.to(bends.dtype) @ right_jacobian(bends)


def right_jacobian(bends: RotationVectors) -> Float[Tensor, "*batch joint 3 3"]:
    """``exp(x + dx) = exp(x) exp(J_r(x) dx)``."""
    angle = bends.norm(dim=-1).clamp(min=1e-4)[..., None, None]
    x, y, z = bends.unbind(-1)
    zero = torch.zeros_like(x)
    cross = torch.stack((zero, -z, y, z, zero, -x, -y, x, zero), -1).unflatten(-1, (3, 3))
    eye = torch.eye(3, dtype=bends.dtype)
    # Near zero the quotients lose their digits: use their series there.
    first = torch.where(angle > 0.02, (1 - angle.cos()) / angle**2, 0.5 - angle**2 / 24)
    second = torch.where(angle > 0.02, (angle - angle.sin()) / angle**3, 1 / 6 - angle**2 / 120)
    return eye - first * cross + second * cross @ cross


OPINIONS = (0.4, 0.25)
"""Noise levels at which the denoiser is asked on the way."""
POLISH = 12
"""Most steps of the exact polish."""
LARGEST = 0.6
"""No joint turns further than this in one step [rad]."""
SOFT, HARD = 0.02, 1e-4
"""How exactly handles are met on the way, and in the polish [ℓ]."""
ROOT_STIFFNESS = 0.25
"""How far the root moves as easily as joints bend [ℓ]."""


@dataclass(frozen=True)
class Handle:
    """What a joint should do, in stage coordinates [ℓ]; any of the three."""

    joint: str
    position: tuple[float, float, float] | None = None
    """Where the joint should be."""
    rotation: tuple[float, float, float, float] | None = None
    """Its turn away from rest on the stage, wxyz."""
    look_at: tuple[float, float, float] | None = None
    """The point its bone should point to."""


class Solution(NamedTuple):
    """Poses that meet the handles, best first."""

    bends: Poses
    root: Float[Tensor, "pose 3"]
    error: Float[Tensor, " pose"]
    """The worst handle's miss: of positions [ℓ], of turns and looks [rad]."""


@dataclass(frozen=True, eq=False)
class Goal:
    """Handles as tensors."""

    place: Int[Tensor, " place"]
    place_target: Float[Tensor, "place 3"]
    turn: Int[Tensor, " turn"]
    turn_target: Float[Tensor, "turn 3 3"]
    look: Int[Tensor, " look"]
    look_target: Float[Tensor, "look 3"]
    look_axis: Float[Tensor, "look 3"]
    """Directions of the looking bones at rest."""


@dataclass(frozen=True, eq=False)
class Solver:
    """What solving on one rig needs."""

    denoiser: Denoiser
    chains: Chains
    covariance: Float[Tensor, "dof dof"]
    """Of the bends of the rig's own poses."""
    memory: Poses
    """Some of those poses, to start from."""

    def solve(
        self, handles: tuple[Handle, ...], start: Poses | None = None, root: Float[Tensor, "pose 3"] | None = None,
        *, count: int = 1, free_root: bool = True, exact: bool = True, opinions: tuple[float, ...] = OPINIONS,
    ) -> Solution:  # fmt: skip
        """From the given poses, or from those in memory that come nearest."""
        goal = goal_of(self.chains.skeleton, handles)
        rest = torch.as_tensor(self.chains.skeleton.positions[0], dtype=torch.float32)
        if start is None:
            start, root = self._nearest(goal, rest, count, free_root)
        x = start.clone()
        at = rest.expand(len(x), 3) if root is None else root
        gain, placed = self._stiffness(free_root), self.chains.place(x, at)
        for t in opinions:
            x, at = self._step(goal, x, at, placed, gain, SOFT, self._opinion(goal, x, at, t))
            placed = self.chains.place(x, at)
        for _ in range(POLISH if exact else 2):
            if float(_misses(goal, placed).amax()) < HARD:
                break
            x, at = self._step(goal, x, at, placed, gain, HARD, x)
            placed = self.chains.place(x, at)
        error = _misses(goal, placed).amax(-1)
        order = error.argsort()
        return Solution(x[order], at[order], error[order])

    def _nearest(self, goal: Goal, rest: Tensor, count: int, free_root: bool) -> tuple[Poses, Tensor]:
        """The poses in memory whose handles are nearest to their targets."""
        placed = self.chains.place(self.memory, rest.expand(len(self.memory), 3))
        miss = goal.place_target - placed.position[:, goal.place]
        shift = miss.mean(1) if free_root and len(goal.place) else torch.zeros(len(self.memory), 3)
        cost = (miss - shift[:, None]).square().sum((-1, -2)) + shift.square().sum(-1)
        chosen = cost.argsort()[:count]
        return self.memory[chosen], rest + shift[chosen]

    def _opinion(self, goal: Goal, x: Poses, at: Float[Tensor, "pose 3"], t: float) -> Poses:
        """What the denoiser, told of the handles, takes the poses for."""
        rigs = self.denoiser.rig.rigs
        wanted = torch.zeros(1, *x.shape[:2], dtype=torch.bool)
        target = torch.zeros(1, *x.shape)
        wanted[:, :, goal.place] = True
        target[:, :, goal.place] = goal.place_target - at[:, None]
        told = handle_inputs(rigs, wanted, target)[0]
        alpha, _ = level(torch.tensor(t))
        return self.denoiser.to_bends(self.denoiser.guess(alpha * self.denoiser.to_unit(x), t, told))

    def _step(
        self, goal: Goal, x: Poses, at: Float[Tensor, "pose 3"], placed: Placed, gain: Float[Tensor, "dof dof"], soft: float,
        towards: Poses,
    ) -> tuple[Poses, Float[Tensor, "pose 3"]]:  # fmt: skip
        """One Gauss–Newton step around what is wanted where handles are silent."""
        miss, jacobian = self._linear(goal, x, placed)
        away = torch.cat(((towards - x).flatten(1), torch.zeros(len(x), 3)), 1)
        rhs = miss - (jacobian @ away[:, :, None]).squeeze(-1)
        weighted = gain @ jacobian.transpose(-1, -2)
        system = jacobian @ weighted + soft**2 * torch.eye(miss.shape[1])
        change = away + (weighted @ torch.linalg.solve(system, rhs)[:, :, None]).squeeze(-1)
        turn = change[:, :-3].unflatten(1, (-1, 3))
        turn = turn * (LARGEST / turn.norm(dim=-1).amax(-1).clamp(min=LARGEST))[:, None, None]
        return x + turn, at + change[:, -3:]

    def _stiffness(self, free_root: bool) -> Float[Tensor, "dof dof"]:
        """The covariance, with the root's place as three more numbers."""
        root = ROOT_STIFFNESS**2 * torch.eye(3) if free_root else torch.zeros(3, 3)
        return torch.block_diag(self.covariance, root)

    def _linear(self, goal: Goal, x: Poses, placed: Placed) -> tuple[Float[Tensor, "pose row"], Float[Tensor, "pose row dof"]]:
        """What is missed, and how it changes with bends and root."""
        places = placed.position[:, goal.place]
        arms = self.chains.point_jacobian(x, placed, goal.place, places)
        moved = torch.eye(3).expand(len(x), len(goal.place), 3, 3)
        turns = self.chains.turn_jacobian(x, placed, torch.cat((goal.turn, goal.look)))
        looking = _bone_directions(goal, placed)
        across = torch.eye(3) - looking[..., :, None] * looking[..., None, :]
        looks = (across @ turns[:, len(goal.turn) :].flatten(-2)).unflatten(-1, (-1, 3))
        turns = torch.cat((turns[:, : len(goal.turn)], looks), 1)
        still = torch.zeros(len(x), turns.shape[1], 3, 3)
        rows = torch.cat((arms.flatten(-2), turns.flatten(-2)), 1)
        rows = torch.cat((rows, torch.cat((moved, still), 1)), -1).flatten(1, 2)
        return torch.cat(_gaps(goal, placed), 1).flatten(1), rows


def goal_of(skeleton: Skeleton, handles: tuple[Handle, ...]) -> Goal:
    """Check handles and sort them by what they ask."""
    if not handles:
        raise AkdError("Solving needs at least one handle: a joint and where it should be.")
    for handle in handles:
        skeleton.index(handle.joint)
        if handle.position is None and handle.rotation is None and handle.look_at is None:
            raise AkdError(f"The handle on {handle.joint!r} asks for nothing: give it a position, a rotation or a look-at point.")

    def joints(chosen: list[Handle]) -> Int[Tensor, " handle"]:
        return torch.tensor([skeleton.index(handle.joint) for handle in chosen], dtype=torch.long)

    def values(numbers: list, width: int) -> Float[Tensor, "handle width"]:
        return torch.tensor(numbers, dtype=torch.float32).reshape(-1, width)

    place = [handle for handle in handles if handle.position is not None]
    turn = [handle for handle in handles if handle.rotation is not None]
    look = [handle for handle in handles if handle.look_at is not None]
    axes = torch.as_tensor(skeleton.frames[:, :, 0], dtype=torch.float32)
    return Goal(
        joints(place), values([handle.position for handle in place], 3),
        joints(turn), quaternion_to_matrix(values([handle.rotation for handle in turn], 4)),
        joints(look), values([handle.look_at for handle in look], 3), axes[joints(look)],
    )  # fmt: skip


def _gaps(goal: Goal, placed: Placed) -> tuple[Tensor, Tensor, Tensor]:
    """What is missing to the targets: ways [ℓ], turns, and turns of looking bones [rad]."""
    place = goal.place_target - placed.position[:, goal.place]
    away = goal.turn_target @ placed.rotation[:, goal.turn].transpose(-1, -2)
    turn = quaternion_to_rotation_vector(matrix_to_quaternion(away))
    now = _bone_directions(goal, placed)
    wanted = torch.nn.functional.normalize(goal.look_target - placed.position[:, goal.look], dim=-1)
    axis = torch.linalg.cross(now, wanted, dim=-1)
    sine = axis.norm(dim=-1, keepdim=True).clamp(min=1e-9)
    return place, turn, axis * torch.atan2(sine, (now * wanted).sum(-1, keepdim=True)) / sine


def _misses(goal: Goal, placed: Placed) -> Float[Tensor, "pose handle"]:
    return torch.cat(_gaps(goal, placed), 1).norm(dim=-1)


def _bone_directions(goal: Goal, placed: Placed) -> Float[Tensor, "pose look 3"]:
    return (placed.rotation[:, goal.look] @ goal.look_axis[:, :, None]).squeeze(-1)
