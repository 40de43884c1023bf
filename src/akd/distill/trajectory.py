"""How far each of a body's angles goes from its neutral pose.

The unknown of distillation: root and joint angles as curves over time, differentiable in their coefficients.

    values(time) = basis(time) @ coefficients                       one column of coefficients per channel
    pose(time)   = neutral pose + channel scale * values(time)      six channels of the root, three of every other joint

Free frames, cubic B-splines and Fourier series differ in their basis only.
"""

import copy
import math
from dataclasses import replace
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from akd import splines
from akd.character.hinges import Hinges
from akd.distill.assumptions import CANDIDATES, Assumptions
from akd.motion import Motion
from akd.rotations import angles_to_matrix, rotation_vector_to_quaternion
from akd.skeleton import Pose, Skeleton, forward_kinematics, mirror_maps

LIMB_SCALE = 0.5
"""How far one unit of a coefficient turns a joint about its most useful axis [rad]."""
TRUNK_SCALE = 0.1
"""The same for joints of no limb: a bending spine swings two legs alike, and so hides that they should take turns."""
ROOT_SCALE = (0.05, 0.1, 0.05, 0.1, 0.1, 0.1)
"""The same for the root: place [ℓ], turn [rad]."""
LATERAL_SHARE = 0.3
"""A turn that moves a limb sideways counts this much of one that moves it fore and aft or up and down …"""
TWIST_SHARE = 0.1
"""… and one that only twists it, this much."""
Times = Float[Tensor, " time"]
Basis = Float[Tensor, "time coefficient"]
CurveKind = Literal["fourier", "spline", "frames"]
MEAN_SCALE = 0.3
"""Scale of a Fourier series' constant term beside its harmonics: joints swing about the neutral pose."""
HARMONIC_DECAY = 2
"""Harmonic n is scaled by n to the power of minus this. Even harmonics are equal on both sides of an antiphase gait, and fine
wiggles should be made of small coefficients, so that a step of the optimiser does not shake the body."""
LOG_FREQUENCY_SCALE = 0.3
"""Change of the log frequency per unit of its parameter. Small, because lowering the frequency lowers every loss a little."""
ANTIPHASE_ABOVE = 0.25
"""Phase offsets between the sides above this share of a cycle count as antiphase."""
RIGHT_SIDE_SHARE = 0.15
"""Weight of the right side's own coefficients beside the mirrored curves of the left side."""


def channel_count(skeleton: Skeleton) -> int:
    """How many curves move a body: six of the root, three for every other joint."""
    return len(ROOT_SCALE) + 3 * (skeleton.joint_count - 1)


def channel_scale(skeleton: Skeleton, neutral: Float[Tensor, "joint 3"] | None = None) -> Float[np.ndarray, " channel"]:
    """What one unit of each curve means: place and turn of the root, then three angles for every other joint.

    Animals move by swinging their limbs fore and aft and lifting them. Of a joint's three axes, those that do this to what
    hangs on the joint are given more reach than those that spread or twist it, whichever way the limb points at neutral.
    """
    angles = (torch.zeros(skeleton.joint_count, 3) if neutral is None else neutral).double()
    outward, axes = _posed_limbs(skeleton, angles)
    use = np.linalg.norm(np.cross(axes, outward[:, None]) * (1.0, 1.0, LATERAL_SHARE), axis=-1)
    limbs = [joint for limb in skeleton.limbs if limb.kind in ("leg", "arm", "wing", "fin") for joint in limb.joints]
    most = np.full(len(use), TRUNK_SCALE)
    most[limbs] = LIMB_SCALE
    return np.concatenate((ROOT_SCALE, (most[:, None] * np.maximum(use, TWIST_SHARE))[1:].ravel()))


def _posed_limbs(
    skeleton: Skeleton, angles: Float[Tensor, "joint 3"]
) -> tuple[Float[np.ndarray, "joint 3"], Float[np.ndarray, "joint 3 3"]]:
    """Unit vectors from each joint to the middle of the bone ends below it, and the three axes about which it turns."""
    rest = skeleton.rest_pose(dtype=torch.float64)
    posed = forward_kinematics(skeleton, Pose(rest.root_position, rest.root_rotation, angles))
    rotation, position = posed.rotation.numpy(), posed.position.numpy()
    total, number = position + np.einsum("jab,jb->ja", rotation, skeleton.tails - skeleton.positions), np.ones(len(position))
    for joint in range(len(number) - 1, 0, -1):
        parent = skeleton.parents[joint]
        total[parent] += total[joint]
        number[parent] += number[joint]
    away = total / number[:, None] - position
    # Rx(a) Ry(b) Rz(c): an angle's axis is turned by the angles before it, and by the parent.
    before = torch.stack([angles * angles.new_tensor(kept) for kept in ((0, 0, 0), (1, 0, 0), (1, 1, 0))])
    turned = np.stack([turn[..., axis] for axis, turn in enumerate(angles_to_matrix(before).numpy())], -1)
    axes = rotation[np.maximum(skeleton.parents, 0)] @ skeleton.frames @ turned
    return away / np.maximum(np.linalg.norm(away, axis=1, keepdims=True), 1e-9), axes.swapaxes(1, 2)


class Curves(nn.Module):
    """Channels over time. They start near zero: a little noise breaks the symmetry between left and right."""

    def __init__(self, count: int, channels: int, spread: float, randomness: torch.Generator) -> None:
        super().__init__()
        self.coefficients = nn.Parameter(spread * torch.randn(count, channels, generator=randomness))

    has_corners = False
    """Whether the curves are linear between values, which would show at a higher frame rate."""

    def basis(self, times: Times) -> Basis:
        """Weight of each coefficient at each time [s]."""
        raise NotImplementedError

    @property
    def period(self) -> float | None:
        """Seconds after which the curves repeat themselves; None if they do not."""
        return None

    @property
    def duration(self) -> float:
        """Seconds after which there is nothing new: endless for curves that repeat themselves."""
        return math.inf

    @property
    def frequency(self) -> Float[Tensor, ""]:
        """Cycles per second of curves that repeat themselves."""
        raise ValueError(f"{type(self).__name__} curves have no cycle")

    def mean(self) -> Float[Tensor, "#coefficient channel"]:
        """Coefficients of the mean of the motion, held still."""
        return self.coefficients.mean(0, keepdim=True)

    def quicken(self, factor: float) -> None:
        """Multiply the frequency of curves that repeat themselves."""
        raise ValueError(f"{type(self).__name__} curves have no cycle")

    def delayed(self, coefficients: Float[Tensor, "coefficient chosen"], share: float) -> Float[Tensor, "coefficient chosen"]:
        """Coefficients of the same curves, later by a share of the cycle."""
        raise ValueError(f"{type(self).__name__} curves have no cycle")

    def forward(self, times: Times) -> Float[Tensor, "time channel"]:
        return self.basis(times) @ self.coefficients


class Fourier(Curves):
    """A constant and a few harmonics of one free frequency: an exact loop for any coefficients."""

    def __init__(
        self, channels: int, frequency: float, middle: float, *, harmonics: int = 3, spread: float = 0.0,
        randomness: torch.Generator,
    ) -> None:  # fmt: skip
        super().__init__(1 + 2 * harmonics, channels, spread, randomness)
        self.log_frequency = nn.Parameter(torch.tensor(0.0))
        self.start_frequency = frequency
        self.middle = middle
        """Time of phase zero [s]: the middle of the film, so that a change of frequency changes both ends alike."""
        with torch.no_grad():
            self.coefficients[0] = 0.0

    @property
    def frequency(self) -> Float[Tensor, ""]:
        """Cycles per second."""
        return self.start_frequency * (LOG_FREQUENCY_SCALE * self.log_frequency).exp()

    @property
    def period(self) -> float:
        """Seconds per cycle."""
        return 1 / self.frequency.item()

    def mean(self) -> Float[Tensor, "coefficient channel"]:
        """Only the constant term."""
        return torch.cat((self.coefficients[:1], 0 * self.coefficients[1:]))

    def quicken(self, factor: float) -> None:
        self.start_frequency *= factor

    def delayed(self, coefficients: Float[Tensor, "coefficient chosen"], share: float) -> Float[Tensor, "coefficient chosen"]:
        """Every harmonic turned by its own angle."""
        result = coefficients.clone()
        for order in range(1, (len(coefficients) + 1) // 2):
            angle = torch.tensor(2 * torch.pi * order * share)
            cosine, sine = coefficients[2 * order - 1], coefficients[2 * order]
            result[2 * order - 1] = angle.cos() * cosine - angle.sin() * sine
            result[2 * order] = angle.sin() * cosine + angle.cos() * sine
        return result

    def basis(self, times: Times) -> Basis:
        phase = 2 * torch.pi * self.frequency * (times - self.middle)
        orders = range(1, (self.coefficients.shape[0] + 1) // 2)
        waves = [wave(order * phase) / order**HARMONIC_DECAY for order in orders for wave in (torch.cos, torch.sin)]
        return torch.stack((torch.full_like(times, MEAN_SCALE), *waves), -1)


class Spline(Curves):
    """Uniform cubic B-splines over a span of time; with wrapped knots, a loop of that length."""

    def __init__(
        self, channels: int, duration: float, *, knots_per_second: float, wrapped: bool = False, spread: float = 0.0,
        randomness: torch.Generator,
    ) -> None:  # fmt: skip
        knots = splines.Spline(duration, max(round(duration * knots_per_second), 4 if wrapped else 1), wrapped)
        super().__init__(knots.control_count, channels, spread, randomness)
        self.knots = knots

    @property
    def period(self) -> float | None:
        return self.knots.duration if self.knots.loop else None

    @property
    def duration(self) -> float:
        return math.inf if self.knots.loop else self.knots.duration

    @property
    def frequency(self) -> Float[Tensor, ""]:
        return super().frequency if self.period is None else torch.tensor(1 / self.period)

    def quicken(self, factor: float) -> None:
        if not self.knots.loop:
            super().quicken(factor)
        self.knots = replace(self.knots, duration=self.knots.duration / factor)

    def delayed(self, coefficients: Float[Tensor, "coefficient chosen"], share: float) -> Float[Tensor, "coefficient chosen"]:
        """Wrapped coefficients are a periodic sequence, which shifts by a share of its length in the frequency domain."""
        if not self.knots.loop:
            return super().delayed(coefficients, share)
        waves = torch.fft.rfft(coefficients, dim=0)
        turn = torch.exp(-2j * torch.pi * share * torch.arange(len(waves)))
        return torch.fft.irfft(waves * turn[:, None], n=len(coefficients), dim=0)

    def basis(self, times: Times) -> Basis:
        return torch.as_tensor(self.knots.basis(times.detach().cpu().double().numpy())).to(times)


class Frames(Curves):
    """One free value per frame, linear in between: what the paper optimises."""

    has_corners = True

    def __init__(self, channels: int, frames: int, fps: float, *, spread: float = 0.0, randomness: torch.Generator) -> None:
        super().__init__(frames, channels, spread, randomness)
        self.fps = fps

    @property
    def duration(self) -> float:
        return (len(self.coefficients) - 1) / self.fps

    def basis(self, times: Times) -> Basis:
        at = (times * self.fps).clamp(0, self.coefficients.shape[0] - 1)
        return (1 - (at[:, None] - torch.arange(self.coefficients.shape[0])).abs()).clamp(min=0).to(times.dtype)


class Trajectory(nn.Module):
    """A motion under optimisation: the pose at any time, differentiable in the coefficients of its curves."""

    speed: Tensor
    """Forward [ℓ/s]. The camera follows the body, so the film does not show it: standing feet determine it."""
    height: Tensor
    """Offset of the root's height [ℓ] that puts the feet on the ground; the film hardly shows it either."""
    phase_offset: Tensor
    """Share of a cycle by which the right side follows the left one in a loop: 0 in phase, 0.5 antiphase."""
    run_log_odds: Tensor
    """Added to the logarithm of the Froude number when walk or run is decided (see ``gait.choose_walk_or_run``)."""

    def __init__(
        self, skeleton: Skeleton, curves: Curves, speed: float, phase_offset: float = 0.5, hinges: Hinges | None = None,
        neutral: Float[Tensor, "joint 3"] | None = None, *, assumptions: Assumptions = CANDIDATES["antiphase"],
        scale: Float[np.ndarray, " channel"] | None = None,
    ) -> None:  # fmt: skip
        """``scale``: what one unit of each curve means; ``channel_scale`` by default."""
        super().__init__()
        self.hinges, self.assumptions = hinges, assumptions
        self.neutral = torch.zeros(skeleton.joint_count, 3) if neutral is None else neutral
        self.skeleton = skeleton
        self.curves = curves
        self.register_buffer("speed", torch.tensor(float(speed)))
        self.register_buffer("height", torch.tensor(0.0))
        self.rest = torch.as_tensor(skeleton.positions[0], dtype=torch.float32)
        self.register_buffer("phase_offset", torch.tensor(phase_offset))
        self.register_buffer("run_log_odds", torch.tensor(0.0))
        self.pairs = paired_channels(skeleton)
        scale = channel_scale(skeleton, self.neutral) if scale is None else scale
        self.scale = torch.as_tensor(scale, dtype=torch.float32)

    def pose(self, times: Times) -> Pose:
        """The pose at these times [s]."""
        values = self.scale * self.curves(times)
        if self.assumptions.symmetry != "none":
            values = self._mirror_left(values, times)
        carried = torch.stack((self.speed * times, self.height.expand_as(times), torch.zeros_like(times)), -1)
        angles = values[:, 6:].unflatten(1, (-1, 3))
        angles = self.neutral + torch.cat((torch.zeros_like(angles[:, :1]), angles), 1)
        if self.hinges is not None:
            angles = self.hinges.limited(angles)
        return Pose(self.rest + carried + values[:, :3], rotation_vector_to_quaternion(values[:, 3:6]), angles)

    def _mirror_left(self, values: Float[Tensor, "time channel"], times: Times) -> Float[Tensor, "time channel"]:
        """Right-side channels: the mirrored left side ``phase_offset`` cycles earlier, plus a share of their own curves."""
        left, right, sign = self.pairs
        earlier = self.scale * self.curves(times - self.phase_offset / self.curves.frequency)
        values = values.clone()
        values[:, right] = sign * earlier[:, left] + RIGHT_SIDE_SHARE * values[:, right]
        return values

    @property
    def antiphase(self) -> bool:
        """Do left and right alternate, rather than move in phase?"""
        return is_antiphase(float(self.phase_offset))

    def motion(self, frames: int, fps: float, start: float = 0.0) -> Motion:
        """``frames`` frames from ``start`` [s] on."""
        return Motion(self.pose(start + torch.arange(frames) / fps), fps)

    @torch.no_grad()
    def with_amplitude(self, share: float) -> "Trajectory":
        """A copy with this share of the amplitude about its mean pose, and of the speed."""
        trajectory = copy.deepcopy(self)
        own, mean = self.curves.coefficients, self.curves.mean()
        trajectory.curves.coefficients.copy_(mean + share * (own - mean))
        trajectory.speed *= share
        return trajectory

    @torch.no_grad()
    def with_speed(self, speed: float) -> "Trajectory":
        """A copy with the same poses and another forward speed [ℓ/s]."""
        trajectory = copy.deepcopy(self)
        trajectory.speed.fill_(speed)
        return trajectory

    @torch.no_grad()
    def with_tempo(self, factor: float) -> "Trajectory":
        """A copy of a loop with frequency and speed multiplied by ``factor``."""
        trajectory = copy.deepcopy(self)
        trajectory.curves.quicken(factor)
        trajectory.speed *= factor
        return trajectory

    def coefficient_penalty(self) -> Float[Tensor, ""]:
        """Sum of squared coefficients: the distance from the neutral pose in units of the channel scales."""
        return self.curves.coefficients.square().sum()


def is_antiphase(phase_offset: float) -> bool:
    """Is a side that follows the other by this share of a cycle out of phase with it?"""
    return min(phase_offset % 1.0, 1 - phase_offset % 1.0) > ANTIPHASE_ABOVE


def paired_channels(skeleton: Skeleton) -> tuple[Tensor, Tensor, Tensor]:
    """Channels of the left side, the channels of the right side that mirror them, and the sign of the mirror image."""
    joints = np.arange(len(skeleton.names))
    left = joints[(skeleton.mirror != joints) & (skeleton.positions[:, 2] < skeleton.positions[skeleton.mirror, 2])]
    right = skeleton.mirror[left]
    sign = np.sign(np.diagonal(mirror_maps(skeleton.frames, skeleton.mirror)[right], axis1=1, axis2=2))
    return joint_channels(left), joint_channels(right), torch.as_tensor(sign.ravel(), dtype=torch.float32)


def joint_channels(joints: Int[np.ndarray, " chosen"]) -> Int[Tensor, " channel"]:
    """Indices of the three channels of each joint."""
    return torch.as_tensor((len(ROOT_SCALE) + 3 * (joints[:, None] - 1) + np.arange(3)).ravel())
