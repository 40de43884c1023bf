"""Curves over time with few unknowns: every channel is one row of numbers times the same basis.

    values(time) = basis(time) @ coefficients

Free frames, cubic splines and Fourier series differ in their basis only.

The unknown motion: curves for the root and for every joint's angles, and a speed.
"""

import copy
from typing import Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from akd.character.hinges import Hinges
from akd.distill.channel_scale import ROOT_SCALE, channel_count, channel_scale
from akd.motion import Motion
from akd.rotations import rotation_vector_to_quaternion
from akd.skeleton import Pose, Skeleton, mirror_maps

Times = Float[Tensor, " time"]
Basis = Float[Tensor, "time coefficient"]
MEAN_SCALE = 0.3
"""How much a coefficient of a loop's mean counts beside one of its waves: bodies swing about rest."""
HARMONIC_DECAY = 2
"""Waves of higher order are smaller by this power of it: what goes twice a round is alike on both sides that take turns."""
LOG_FREQUENCY_SCALE = 0.3
"""How much one unit changes the logarithm of a loop's frequency: legs are pendulums, and slowing down is the lazy way to calm."""
CurveKind = Literal["fourier", "spline", "frames"]


class Curves(nn.Module):
    """Channels over time, all zero at first but for a little noise that breaks the symmetry between left and right."""

    def __init__(self, count: int, channels: int, spread: float, randomness: torch.Generator) -> None:
        super().__init__()
        self.coefficients = nn.Parameter(spread * torch.randn(count, channels, generator=randomness))

    def basis(self, times: Times) -> Basis:
        """How much each coefficient counts at each time [s]."""
        raise NotImplementedError

    def forward(self, times: Times) -> Float[Tensor, "time channel"]:
        return self.basis(times) @ self.coefficients


class Fourier(Curves):
    """A mean and a few harmonics of one free frequency: an exact loop, whatever its coefficients."""

    def __init__(
        self, channels: int, frequency: float, middle: float, *, harmonics: int = 3, spread: float = 0.0,
        randomness: torch.Generator,
    ) -> None:  # fmt: skip
        super().__init__(1 + 2 * harmonics, channels, spread, randomness)
        self.log_frequency = nn.Parameter(torch.tensor(0.0))
        self.start_frequency = frequency
        self.middle = middle
        """When the phase is zero [s]. In the middle of what is seen, so that another frequency changes the ends alike."""
        with torch.no_grad():
            self.coefficients[0] = 0.0

    @property
    def frequency(self) -> Float[Tensor, ""]:
        """Rounds per second."""
        return self.start_frequency * (LOG_FREQUENCY_SCALE * self.log_frequency).exp()

    @property
    def period(self) -> float:
        """Seconds of one round."""
        return 1 / self.frequency.item()

    def basis(self, times: Times) -> Basis:
        phase = 2 * torch.pi * self.frequency * (times - self.middle)
        orders = range(1, (self.coefficients.shape[0] + 1) // 2)
        # Fine wiggles are made of small coefficients: a step of the optimiser should not shake the body.
        waves = [wave(order * phase) / order**HARMONIC_DECAY for order in orders for wave in (torch.cos, torch.sin)]
        return torch.stack((torch.full_like(times, MEAN_SCALE), *waves), -1)


class Spline(Curves):
    """Uniform cubic B-splines: smooth up to the curvature."""

    def __init__(
        self, channels: int, duration: float, *, knots_per_second: float, spread: float = 0.0, randomness: torch.Generator
    ) -> None:
        pieces = max(round(duration * knots_per_second), 1)
        super().__init__(pieces + 3, channels, spread, randomness)
        self.pieces_per_second = pieces / duration

    def basis(self, times: Times) -> Basis:
        apart = times[:, None] * self.pieces_per_second - torch.arange(-1, self.coefficients.shape[0] - 1)
        near = apart.abs()
        inner, outer = 2 / 3 - near.square() + near**3 / 2, (2 - near).clamp(min=0) ** 3 / 6
        return torch.where(near < 1, inner, outer).to(times.dtype)


class Frames(Curves):
    """A value for every frame, and straight lines between: the paper's own choice."""

    def __init__(
        self, channels: int, frames: int, fps: float, *, spread: float = 0.0, randomness: torch.Generator
    ) -> None:
        super().__init__(frames, channels, spread, randomness)
        self.fps = fps

    def basis(self, times: Times) -> Basis:
        at = (times * self.fps).clamp(0, self.coefficients.shape[0] - 1)
        return (1 - (at[:, None] - torch.arange(self.coefficients.shape[0])).abs()).clamp(min=0).to(times.dtype)


ANTIPHASE_ABOVE = 0.25
"""Sides that follow each other by more than this share of a round take turns."""
RIGHT_SIDE_SHARE = 0.15
"""How much of its own the right side does."""


class Trajectory(nn.Module):
    """A motion that can be optimised: a pose at any time, differentiable in curves and speed."""

    speed: Tensor
    """Forward [ℓ/s]. The camera goes along, so no picture shows it: it is what the standing feet say."""
    height: Tensor
    """How far the root is raised [ℓ], so that feet are on the ground."""
    phase_offset: Tensor
    """By how much of a round a loop's right side follows its left: animals hop or take turns, but both sides do the same."""
    leg_gain: Tensor
    """1 while legs move, 0 for a body that stays where it is (see ``planting.choose_to_stay``)."""
    run_log_odds: Tensor
    """Towards a run rather than a walk, as far as the prior was asked: the natural logarithm of a factor on the Froude number."""

    def __init__(
        self, skeleton: Skeleton, curves: Curves, speed: float, phase_offset: float = 0.5, hinges: Hinges | None = None,
        neutral: Float[Tensor, "joint 3"] | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.hinges = hinges
        self.neutral = torch.zeros(skeleton.joint_count, 3) if neutral is None else neutral
        self.skeleton = skeleton
        self.curves = curves
        self.register_buffer("speed", torch.tensor(float(speed)))
        self.register_buffer("height", torch.tensor(0.0))
        self.rest = torch.as_tensor(skeleton.positions[0], dtype=torch.float32)
        self.register_buffer("phase_offset", torch.tensor(phase_offset))
        self.register_buffer("leg_gain", torch.tensor(1.0))
        self.register_buffer("run_log_odds", torch.tensor(0.0))
        self.pairs = paired_channels(skeleton)
        self.is_leg = leg_channels(skeleton)
        self.scale = torch.as_tensor(channel_scale(skeleton, self.neutral), dtype=torch.float32)

    def pose(self, times: Times) -> Pose:
        """Where everything is at these times [s]."""
        values = self.scale * self.curves(times)
        if isinstance(self.curves, Fourier):
            values = self._two_sided(values, times, self.curves)
        values = torch.where(self.is_leg, self.leg_gain, 1.0) * values
        carried = torch.stack((self.speed * times, self.height.expand_as(times), torch.zeros_like(times)), -1)
        angles = values[:, 6:].unflatten(1, (-1, 3))
        angles = self.neutral + torch.cat((torch.zeros_like(angles[:, :1]), angles), 1)
        if self.hinges is not None:
            angles = self.hinges.limited(angles)
        return Pose(self.rest + carried + values[:, :3], rotation_vector_to_quaternion(values[:, 3:6]), angles)

    def _two_sided(self, values: Float[Tensor, "time channel"], times: Times, curves: Fourier) -> Float[Tensor, "time channel"]:
        """What the right side does: what the left did ``phase_offset`` of a round before, mirrored, and a little of its own."""
        left, right, sign = self.pairs
        before = self.scale * curves(times - self.phase_offset / curves.frequency)
        values = values.clone()
        values[:, right] = sign * before[:, left] + RIGHT_SIDE_SHARE * values[:, right]
        return values

    @property
    def antiphase(self) -> bool:
        """Do left and right take turns, rather than go together?"""
        return is_antiphase(float(self.phase_offset))

    def motion(self, frames: int, fps: float, start: float = 0.0) -> Motion:
        """So many frames from a time on [s]."""
        return Motion(self.pose(start + torch.arange(frames) / fps), fps)

    @torch.no_grad()
    def calmer(self, share: float) -> "Trajectory":
        """The same motion with a share of its swing and speed."""
        trajectory = copy.deepcopy(self)
        own = self.curves.coefficients
        # A loop's first row is its mean; elsewhere coefficients are values, and their mean is the motion's.
        mean = torch.cat((own[:1], 0 * own[1:])) if isinstance(self.curves, Fourier) else own.mean(0, keepdim=True)
        trajectory.curves.coefficients.copy_(mean + share * (own - mean))
        trajectory.speed *= share
        return trajectory

    @torch.no_grad()
    def at_speed(self, speed: float) -> "Trajectory":
        """The same poses on a body of another speed."""
        trajectory = copy.deepcopy(self)
        trajectory.speed.fill_(speed)
        return trajectory

    @torch.no_grad()
    def stay(self) -> "Trajectory":
        """From now on, stay in place and keep the legs still; returns itself."""
        self.leg_gain.zero_()
        self.speed.zero_()
        return self

    @torch.no_grad()
    def quicker(self, factor: float) -> "Trajectory":
        """The same loop in less time."""
        trajectory = copy.deepcopy(self)
        assert isinstance(trajectory.curves, Fourier)
        trajectory.curves.start_frequency *= factor
        trajectory.speed *= factor
        return trajectory

    def coefficient_penalty(self) -> Float[Tensor, ""]:
        """How far from neutral the motion is, in units of what joints do easily."""
        return self.curves.coefficients.square().sum()


def is_antiphase(phase_offset: float) -> bool:
    """Is a side that follows the other by this share of a round out of step with it?"""
    return min(phase_offset % 1.0, 1 - phase_offset % 1.0) > ANTIPHASE_ABOVE


def paired_channels(skeleton: Skeleton) -> tuple[Tensor, Tensor, Tensor]:
    """Channels of the left side, those of the right side that mirror them, and the sign with which they do."""
    joints = np.arange(len(skeleton.names))
    left = joints[(skeleton.mirror != joints) & (skeleton.positions[:, 2] < skeleton.positions[skeleton.mirror, 2])]
    right = skeleton.mirror[left]
    sign = np.sign(np.diagonal(mirror_maps(skeleton.frames, skeleton.mirror)[right], axis1=1, axis2=2))
    return joint_channels(left), joint_channels(right), torch.as_tensor(sign.ravel(), dtype=torch.float32)


def leg_channels(skeleton: Skeleton) -> Bool[Tensor, " channel"]:
    """Which curves move legs."""
    joints = [joint for limb in skeleton.limbs_of("leg") for joint in limb.joints]
    found = torch.zeros(channel_count(skeleton), dtype=torch.bool)
    found[joint_channels(np.array(joints, dtype=int))] = True
    return found


def joint_channels(joints: Int[np.ndarray, " chosen"]) -> Int[Tensor, " channel"]:
    """Where the three angles of each joint stand among the curves."""
    return torch.as_tensor((len(ROOT_SCALE) + 3 * (joints[:, None] - 1) + np.arange(3)).ravel())
