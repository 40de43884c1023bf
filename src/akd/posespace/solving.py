"""Inverse kinematics among plausible poses.

Gauss–Newton steps bring handles to their targets; what handles leave free follows the denoiser and the covariance C of samples of
the rig:

    x ← x̂ + C Jᵀ (J C Jᵀ + ε²)⁻¹ (c − f(x) − J (x̂ − x)),      x̂ the denoised x

A polish without the denoiser then meets the handles exactly: ``x ← x + C Jᵀ (J C Jᵀ + λ)⁻¹ (c − f(x))``. The Jacobian J of
forward kinematics is written in closed form, because autograd would take most of the time.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from akd.errors import AkdError
from akd.posespace.denoiser import Denoiser, Poses
from akd.posespace.network import handle_inputs, noise_level
from akd.posespace.representation import RotationVectors, vector_matrices, vectors_to_pose
from akd.rotations import matrix_to_quaternion, quaternion_to_matrix, quaternion_to_rotation_vector
from akd.skeleton import Pose, Posed, Skeleton, compose

PRIOR_TIMES = (0.4, 0.25)
"""Noise times at which poses are denoised, one Gauss–Newton step each."""
MAX_POLISH_STEPS = 12
"""Most steps of the exact polish."""
SHORT_POLISH_STEPS = 2
"""Steps of the polish where handles need not be met exactly."""
MAX_STEP_ANGLE = 0.6
"""No joint turns further than this in one step [rad]."""
RIDGE = 1e-4
"""Added to the diagonal of a system that has no solution otherwise, relative to its mean."""
PRIOR_TOLERANCE, POLISH_TOLERANCE = 0.02, 1e-4
"""How exactly handles are met in steps with the denoiser, and in the polish [ℓ]."""
MAX_COORDINATE = 1e4
"""Targets further away than this are a mistake [ℓ]."""
MIN_QUATERNION = 1e-6
"""Shorter quaternions have no direction."""
ROOT_SPREAD = 0.25
"""Deviation of the root's position, beside the covariance of joint rotation vectors [ℓ]."""


@dataclass(frozen=True, eq=False)
class Kinematics:
    """Forward kinematics of one skeleton in joint rotation vectors, and its Jacobians."""

    skeleton: Skeleton
    frames: Float[Tensor, "joint 3 3"]
    is_ancestor: Bool[Tensor, "joint joint"]
    """``[a, j]``, j itself included."""

    @classmethod
    def of(cls, skeleton: Skeleton) -> "Kinematics":
        return cls(skeleton, torch.as_tensor(skeleton.frames, dtype=torch.float32), torch.as_tensor(skeleton.is_ancestor))

    def forward(self, vectors: Poses, root: Float[Tensor, "pose 3"]) -> Posed:
        """Rotations away from rest and positions of all joints, on the stage."""
        frames = self.frames.to(vectors.dtype)
        return compose(self.skeleton, root, frames @ vector_matrices(vectors) @ frames.transpose(-1, -2))

    def point_jacobian(
        self, vectors: Poses, posed: Posed, joints: Int[Tensor, " handle"], points: Float[Tensor, "pose handle 3"]
    ) -> Float[Tensor, "pose handle 3 joint 3"]:
        """``∂ point / ∂ x`` of points that move with joints: ``axis × arm`` for every joint above."""
        arm = points[:, :, None] - posed.position[:, None]
        axes = self._axes(vectors, posed)
        moved = torch.linalg.cross(axes[:, None].transpose(-1, -2), arm[..., None, :].expand(*arm.shape[:-1], 3, 3), dim=-1)
        return torch.where(self._above(joints)[None, :, None, :, None], moved.permute(0, 1, 4, 2, 3), moved.new_zeros(()))

    def rotation_jacobian(
        self, vectors: Poses, posed: Posed, joints: Int[Tensor, " handle"]
    ) -> Float[Tensor, "pose handle 3 joint 3"]:
        """``∂ rotation / ∂ x`` of joints, as rotation vectors on the stage."""
        axes = self._axes(vectors, posed)[:, None].expand(-1, len(joints), -1, -1, -1)
        return torch.where(self._above(joints)[None, :, None, :, None], axes.permute(0, 1, 3, 2, 4), axes.new_zeros(()))

    def _above(self, joints: Int[Tensor, " handle"]) -> Bool[Tensor, "handle joint"]:
        """Which joints move each handle."""
        return self.is_ancestor[:, joints].T

    def _axes(self, vectors: Poses, posed: Posed) -> Float[Tensor, "pose joint 3 3"]:
        """Columns are the stage axes about which a joint turns when its three angles grow: ``Q_j B_j J_r(x)``."""
        return posed.rotation @ self.frames.to(vectors.dtype) @ right_jacobian(vectors)


def right_jacobian(vectors: RotationVectors) -> Float[Tensor, "*batch joint 3 3"]:
    """The right Jacobian of the exponential map: ``exp(x + dx) = exp(x) exp(J_r(x) dx)``."""
    angle = vectors.norm(dim=-1).clamp(min=1e-4)[..., None, None]
    x, y, z = vectors.unbind(-1)
    zero = torch.zeros_like(x)
    cross = torch.stack((zero, -z, y, z, zero, -x, -y, x, zero), -1).unflatten(-1, (3, 3))
    eye = torch.eye(3, dtype=vectors.dtype)
    # Near zero the quotients lose their digits, so their series are used.
    first = torch.where(angle > 0.02, (1 - angle.cos()) / angle**2, 0.5 - angle**2 / 24)
    second = torch.where(angle > 0.02, (angle - angle.sin()) / angle**3, 1 / 6 - angle**2 / 120)
    return eye - first * cross + second * cross @ cross


@dataclass(frozen=True)
class Handle:
    """Where a joint should be or point, in stage coordinates [ℓ]; any of the three."""

    joint: str
    position: tuple[float, float, float] | None = None
    """Where the joint should be."""
    rotation: tuple[float, float, float, float] | None = None
    """Its rotation away from rest on the stage, wxyz."""
    look_at: tuple[float, float, float] | None = None
    """The point its bone should point to."""

    @classmethod
    def parse(cls, text: str) -> "Handle":
        """A handle from text: JOINT=x,y,z (position), JOINT@x,y,z (look-at point) or JOINT~w,x,y,z (rotation)."""
        for sign, count in (("=", 3), ("@", 3), ("~", 4)):
            joint, found, numbers = text.rpartition(sign)
            if not found:
                continue
            try:
                values = [float(number) for number in numbers.split(",")]
            except ValueError:
                values = []
            if len(values) != count:
                example = f"{joint or 'hand'}{sign}{'1,' * (count - 1)}1"
                raise AkdError(f"{text!r} needs {count} numbers after {sign!r}, as in {example}.")
            if sign == "~":
                return cls(joint, rotation=(values[0], values[1], values[2], values[3]))
            point = (values[0], values[1], values[2])
            return cls(joint, position=point) if sign == "=" else cls(joint, look_at=point)
        raise AkdError(f"A handle is JOINT=x,y,z, JOINT@x,y,z or JOINT~w,x,y,z, not {text!r}.")


class Solution(NamedTuple):
    """Poses that meet the handles, best first."""

    vectors: Poses
    """Joint rotation vectors [rad]; the root's row holds its heading, too."""
    root: Float[Tensor, "pose 3"]
    """Position of the root [ℓ]."""
    error: Float[Tensor, " pose"]
    """Of the worst handle: of positions [ℓ], of rotations and look-at directions [rad]."""

    @property
    def pose(self) -> Pose:
        """The same as a batch of poses of the rig."""
        return vectors_to_pose(self.vectors, self.root)


@dataclass(frozen=True, eq=False)
class HandleTargets:
    """Handles as tensors: joints and their targets."""

    position: Int[Tensor, " position"]
    position_target: Float[Tensor, "*#pose position 3"]
    """The same for all poses, or one for each."""
    rotation: Int[Tensor, " rotation"]
    rotation_target: Float[Tensor, "rotation 3 3"]
    look: Int[Tensor, " look"]
    look_target: Float[Tensor, "look 3"]
    look_axis: Float[Tensor, "look 3"]
    """Directions at rest of the bones that should point at the targets."""


@dataclass(frozen=True, eq=False)
class Solver:
    """Inverse kinematics of one rig."""

    denoiser: Denoiser
    kinematics: Kinematics
    covariance: Float[Tensor, "dof dof"]
    """Of the rotation vectors of samples of the rig."""
    reference_poses: Poses
    """Samples of the rig, to start from."""

    def solve(
        self, handles: tuple[Handle, ...], start: Poses | None = None, root: Float[Tensor, "pose 3"] | None = None,
        *, count: int = 1, free_root: bool = True, exact: bool = True, prior_times: tuple[float, ...] = PRIOR_TIMES,
    ) -> Solution:  # fmt: skip
        """Poses that meet the handles, from given poses or from the samples that come nearest."""
        targets = handle_targets(self.kinematics.skeleton, handles)
        rest = torch.as_tensor(self.kinematics.skeleton.positions[0], dtype=torch.float32)
        if start is None:
            start, root = self._nearest(targets, rest, count, free_root)
        x = start.clone()
        at = rest.expand(len(x), 3) if root is None else root
        covariance, posed = self._covariance(free_root), self.kinematics.forward(x, at)
        for t in prior_times:
            x, at = self._step(targets, x, at, posed, covariance, PRIOR_TOLERANCE, self._denoised(targets, x, at, t))
            posed = self.kinematics.forward(x, at)
        x, at = self.polish(targets, x, at, free_root=free_root, steps=MAX_POLISH_STEPS if exact else SHORT_POLISH_STEPS)
        error = _error_norms(targets, self.kinematics.forward(x, at)).amax(-1)
        order = error.argsort()
        return Solution(x[order], at[order], error[order])

    def polish(
        self, targets: HandleTargets, x: Poses, at: Float[Tensor, "pose 3"],
        *, free_root: bool = True, steps: int = MAX_POLISH_STEPS,
    ) -> tuple[Poses, Float[Tensor, "pose 3"]]:  # fmt: skip
        """Poses and root positions that meet the handles, changed as little as the covariance of samples allows."""
        covariance, posed = self._covariance(free_root), self.kinematics.forward(x, at)
        for _ in range(steps):
            if float(_error_norms(targets, posed).amax()) < POLISH_TOLERANCE:
                break
            x, at = self._step(targets, x, at, posed, covariance, POLISH_TOLERANCE, x)
            posed = self.kinematics.forward(x, at)
        return x, at

    def _nearest(self, targets: HandleTargets, rest: Tensor, count: int, free_root: bool) -> tuple[Poses, Tensor]:
        """The samples whose handles are nearest to their targets, and root positions that bring them nearer."""
        posed = self.kinematics.forward(self.reference_poses, rest.expand(len(self.reference_poses), 3))
        miss = targets.position_target - posed.position[:, targets.position]
        shift = miss.mean(1) if free_root and len(targets.position) else torch.zeros(len(self.reference_poses), 3)
        cost = (miss - shift[:, None]).square().sum((-1, -2)) + shift.square().sum(-1)
        chosen = cost.argsort()[:count]
        return self.reference_poses[chosen], rest + shift[chosen]

    def _denoised(self, targets: HandleTargets, x: Poses, at: Float[Tensor, "pose 3"], t: float) -> Poses:
        """The poses denoised, conditioned on the handles."""
        rigs = self.denoiser.rig.rigs
        handled = torch.zeros(1, *x.shape[:2], dtype=torch.bool)
        target = torch.zeros(1, *x.shape)
        handled[:, :, targets.position] = True
        target[:, :, targets.position] = targets.position_target - at[:, None]
        handles = handle_inputs(rigs, handled, target)[0]
        alpha, _ = noise_level(torch.tensor(t))
        return self.denoiser.to_vectors(self.denoiser.denoise(alpha * self.denoiser.to_normalised(x), t, handles))

    def _step(
        self, targets: HandleTargets, x: Poses, at: Float[Tensor, "pose 3"], posed: Posed, covariance: Float[Tensor, "dof dof"],
        tolerance: float, towards: Poses,
    ) -> tuple[Poses, Float[Tensor, "pose 3"]]:  # fmt: skip
        """One Gauss–Newton step; what handles leave free goes to ``towards``."""
        miss, jacobian = self._linear(targets, x, posed)
        away = torch.cat(((towards - x).flatten(1), torch.zeros(len(x), 3)), 1)
        rhs = miss - (jacobian @ away[:, :, None]).squeeze(-1)
        weighted = covariance @ jacobian.transpose(-1, -2)
        system = jacobian @ weighted + tolerance**2 * torch.eye(miss.shape[1])
        change = away + (weighted @ _solved(system, rhs)[:, :, None]).squeeze(-1)
        angles = change[:, :-3].unflatten(1, (-1, 3))
        angles = angles * (MAX_STEP_ANGLE / angles.norm(dim=-1).amax(-1).clamp(min=MAX_STEP_ANGLE))[:, None, None]
        return x + angles, at + change[:, -3:]

    def _covariance(self, free_root: bool) -> Float[Tensor, "dof dof"]:
        """The covariance of rotation vectors and of the root's position."""
        root = ROOT_SPREAD**2 * torch.eye(3) if free_root else torch.zeros(3, 3)
        return torch.block_diag(self.covariance, root)

    def _linear(
        self, targets: HandleTargets, x: Poses, posed: Posed
    ) -> tuple[Float[Tensor, "pose row"], Float[Tensor, "pose row dof"]]:
        """Errors of the handles, and their Jacobian in rotation vectors and root position."""
        points = posed.position[:, targets.position]
        arms = self.kinematics.point_jacobian(x, posed, targets.position, points)
        moved = torch.eye(3).expand(len(x), len(targets.position), 3, 3)
        rotations = self.kinematics.rotation_jacobian(x, posed, torch.cat((targets.rotation, targets.look)))
        looking = _bone_directions(targets, posed)
        across = torch.eye(3) - looking[..., :, None] * looking[..., None, :]
        looks = (across @ rotations[:, len(targets.rotation) :].flatten(-2)).unflatten(-1, (-1, 3))
        rotations = torch.cat((rotations[:, : len(targets.rotation)], looks), 1)
        still = torch.zeros(len(x), rotations.shape[1], 3, 3)
        rows = torch.cat((arms.flatten(-2), rotations.flatten(-2)), 1)
        rows = torch.cat((rows, torch.cat((moved, still), 1)), -1).flatten(1, 2)
        return torch.cat(_errors(targets, posed), 1).flatten(1), rows


def handle_targets(skeleton: Skeleton, handles: tuple[Handle, ...]) -> HandleTargets:
    """Check handles and sort them by kind."""
    if not handles:
        raise AkdError("Solving needs at least one handle: a joint and where it should be.")
    for handle in handles:
        skeleton.index(handle.joint)
        if handle.position is None and handle.rotation is None and handle.look_at is None:
            raise AkdError(f"The handle on {handle.joint!r} asks for nothing: give it a position, a rotation or a look-at point.")
        numbers = (*(handle.position or ()), *(handle.rotation or ()), *(handle.look_at or ()))
        if not all(abs(number) <= MAX_COORDINATE for number in numbers):
            raise AkdError(f"The handle on {handle.joint!r} has a number that is not finite or larger than {MAX_COORDINATE:g}.")
        if handle.rotation is not None and math.hypot(*handle.rotation) < MIN_QUATERNION:
            raise AkdError(f"The rotation of the handle on {handle.joint!r} is no rotation: its four numbers are zero.")

    def joints(chosen: list[Handle]) -> Int[Tensor, " handle"]:
        return torch.tensor([skeleton.index(handle.joint) for handle in chosen], dtype=torch.long)

    def values(numbers: list, width: int) -> Float[Tensor, "handle width"]:
        return torch.tensor(numbers, dtype=torch.float32).reshape(-1, width)

    position = [handle for handle in handles if handle.position is not None]
    rotation = [handle for handle in handles if handle.rotation is not None]
    look = [handle for handle in handles if handle.look_at is not None]
    axes = torch.as_tensor(skeleton.frames[:, :, 0], dtype=torch.float32)
    return HandleTargets(
        joints(position), values([handle.position for handle in position], 3),
        joints(rotation), quaternion_to_matrix(values([handle.rotation for handle in rotation], 4)),
        joints(look), values([handle.look_at for handle in look], 3), axes[joints(look)],
    )  # fmt: skip


def _errors(targets: HandleTargets, posed: Posed) -> tuple[Tensor, Tensor, Tensor]:
    """What is missing to the targets: of positions [ℓ], rotations and look-at directions [rad]."""
    position = targets.position_target - posed.position[:, targets.position]
    away = targets.rotation_target @ posed.rotation[:, targets.rotation].transpose(-1, -2)
    rotation = quaternion_to_rotation_vector(matrix_to_quaternion(away))
    now = _bone_directions(targets, posed)
    aim = torch.nn.functional.normalize(targets.look_target - posed.position[:, targets.look], dim=-1)
    axis = torch.linalg.cross(now, aim, dim=-1)
    sine = axis.norm(dim=-1, keepdim=True).clamp(min=1e-9)
    return position, rotation, axis * torch.atan2(sine, (now * aim).sum(-1, keepdim=True)) / sine


def _error_norms(targets: HandleTargets, posed: Posed) -> Float[Tensor, "pose handle"]:
    """Size of each handle's error [ℓ or rad]."""
    return torch.cat(_errors(targets, posed), 1).norm(dim=-1)


def _bone_directions(targets: HandleTargets, posed: Posed) -> Float[Tensor, "pose look 3"]:
    """Directions in which the bones with look-at handles point."""
    return (posed.rotation[:, targets.look] @ targets.look_axis[:, :, None]).squeeze(-1)


def _solved(system: Float[Tensor, "pose row row"], rhs: Float[Tensor, "pose row"]) -> Float[Tensor, "pose row"]:
    """Solutions of symmetric systems; where handles contradict each other (four on a body of six bones), of nearby ones."""
    found, failed = torch.linalg.solve_ex(system, rhs)
    if not bool(failed.any()):
        return found
    size = system.diagonal(dim1=-2, dim2=-1).mean(-1).clamp(min=1e-9)
    return torch.linalg.solve(system + RIDGE * size[:, None, None] * torch.eye(system.shape[-1]), rhs)
