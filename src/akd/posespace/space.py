"""The pose space of one rig: sampling, solving, repairing, scoring and interpolating its poses.

space = PoseSpace.build(rig)
poses = space.sample(16, seed=1)
found = space.solve((Handle("hand_L", position=(0.4, 1.2, -0.3)),))
space.score(poses).percentile
"""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from akd.errors import AkdError
from akd.motion import Motion
from akd.posespace.denoiser import USUAL_NOISE, Denoiser, Poses
from akd.posespace.editing import DEFAULT_REACH, Edit, edit_clip
from akd.posespace.examples import chosen_examples
from akd.posespace.footing import stand_firmly
from akd.posespace.network import SHIPPED, load_network, noise_level
from akd.posespace.representation import (
    RigDescriptor,
    RotationVectors,
    pose_to_vectors,
    rig_descriptor,
    vectors_to_pose,
    vectors_with_heading,
)
from akd.posespace.scoring import PoseScorer, Score
from akd.posespace.solving import Handle, Kinematics, Solution, Solver
from akd.posespace.validity import Faults, JointLimits, Validators, joint_limits
from akd.posespace.walking import Easing, PathMethod, eased_path, keyframe_path
from akd.rig import Rig
from akd.skeleton import Pose

REFERENCE_COUNT = 96
"""Samples that a space keeps of its rig: for the covariance, as a reference for scores, to start solving from."""
SCORED_COUNT = 48
"""How many of them scores are compared to: half of the time of a build would go into more."""
MAX_SAMPLES = 1024
"""Most poses that are drawn at once: all of them are in memory."""
MAX_TEMPERATURE = 10.0
"""Noise so much larger than in training is far beyond what the network has seen."""
MAX_WALK_FRAMES = 10_000
"""Longest walk."""
MAX_PATH_POINTS = 24
"""Most points of a path between two keyframes; frames between them are interpolated."""
SPARE_SHARE = 0.1
"""Share of additional samples, to replace those that cannot be repaired."""
LIMIT_MARGIN, LEAST_MARGIN = 0.15, 0.05
"""By which joints may go beyond the samples in a simulation: a share of their range, and an angle [rad]."""
ENERGY_TIMES = (0.15, 0.35)
"""Noise times of ``energy``."""


class PoseVerdict(NamedTuple):
    """What is known about one pose."""

    pose: int
    """Its number."""
    percentile: float
    """Share of samples that are less plausible, 0 to 100."""
    valid: bool
    """Whether it is plausible and has no faults."""
    worst_joint: str
    """The least plausible joint."""
    depth: float
    """Largest penetration depth [ℓ]."""


@dataclass(frozen=True, eq=False)
class PoseSpace:
    """The pose space of a rig. Poses are joint rotation vectors [rad] unless they are a ``Pose``."""

    rig: Rig
    descriptor: RigDescriptor
    denoiser: Denoiser
    validators: Validators
    scorer: PoseScorer
    solver: Solver
    reference_poses: Poses
    """Samples of the rig [rad]."""

    @classmethod
    def build(cls, rig: Rig, *, like: Poses | None = None, weights: Path = SHIPPED, seed: int = 0) -> "PoseSpace":
        """The pose space of a rig: encode it and draw the reference samples.

        ``like`` are poses that the rig is known to take [rad], such as ``own_clip_poses`` of its file; a few of them are used.
        """
        descriptor = rig_descriptor(rig)
        if like is not None and like.shape[1:] != (descriptor.joint_count, 3):
            raise AkdError(f"Example poses of {rig.name} have {descriptor.joint_count} joints × 3, not {tuple(like.shape[1:])}.")
        denoiser = Denoiser.of(load_network(weights), descriptor, None if like is None else chosen_examples(like))
        validators = Validators.of(rig, descriptor, denoiser)
        reference_poses = denoiser.to_vectors(denoiser.draw(REFERENCE_COUNT, seed, noise=1.0))
        kinematics = Kinematics.of(rig.skeleton)
        solver = Solver(denoiser, kinematics, covariance(denoiser, reference_poses), reference_poses)
        scorer = PoseScorer.of(denoiser, reference_poses[:SCORED_COUNT])
        return cls(rig, descriptor, denoiser, validators, scorer, solver, reference_poses)

    def sample(self, count: int, *, seed: int = 0, temperature: float = 1.0, repair: bool = True) -> Poses:
        """Plausible poses; the same seed gives the same ones. A low temperature stays near the mean, a high one varies more."""
        if not 1 <= count <= MAX_SAMPLES or not 0 < temperature <= MAX_TEMPERATURE:
            raise AkdError(
                f"Sampling needs a count of at least 1 and at most {MAX_SAMPLES:,}, and a temperature above 0 and at most"
                f" {MAX_TEMPERATURE:g}, not {count} and {temperature}."
            )
        drawn = count + (round(SPARE_SHARE * count) + 1 if repair else 0)
        guidance = self.validators.guide if repair else None
        poses = self.denoiser.to_vectors(self.denoiser.draw(drawn, seed, noise=temperature * USUAL_NOISE, guidance=guidance))
        if not repair:
            return poses
        poses = self.validators.repair(poses)
        invalid = (~self.faults(poses).valid).float()
        return poses[torch.argsort(invalid, stable=True)[:count]]

    def solve(
        self,
        handles: tuple[Handle, ...],
        start: Pose | None = None,
        *,
        count: int = 1,
        free_root: bool = True,
        exact: bool = True,
    ) -> Solution:
        """Poses that meet the handles and are plausible otherwise; from ``start``, as in dragging, or from samples."""
        if not 1 <= count <= REFERENCE_COUNT:
            raise AkdError(f"Solving finds at least 1 and at most {REFERENCE_COUNT} solutions, not {count}.")
        if start is None:
            return self.solver.solve(handles, count=count, free_root=free_root, exact=exact)
        batch = start if start.angles.ndim == 3 else start[None]
        return self.solver.solve(handles, vectors_with_heading(batch), batch.root_position, free_root=free_root, exact=exact)

    def project(self, vectors: Poses, *, strength: float = 0.3, iterations: int = 4) -> Poses:
        """Implausible poses moved to plausible ones nearby; ``strength`` is the noise time at which they are denoised."""
        if not 0 < strength < 1:
            raise AkdError(f"The strength of a projection lies between 0 and 1, not at {strength}.")
        normalised = self.denoiser.to_normalised(vectors)
        for step in range(iterations):
            t = strength * (1 - step / iterations)
            alpha, _ = noise_level(torch.tensor(t))
            normalised = self.denoiser.denoise(alpha * normalised, t)
        return self.validators.repair(self.denoiser.to_vectors(normalised))

    def score(self, vectors: Poses) -> Score:
        """How plausible poses are, and which joint is the least."""
        return self.scorer.score(vectors)

    def verdicts(self, vectors: Poses) -> list[PoseVerdict]:
        """Score and faults of each pose, rounded for tables."""
        score, faults = self.score(vectors), self.faults(vectors)
        valid = faults.valid & score.plausible
        names = self.rig.skeleton.names
        return [
            PoseVerdict(
                number, round(float(score.percentile[number]), 1), bool(valid[number]), names[int(score.worst_joint[number])],
                round(float(faults.depth[number]), 3),
            )
            for number in range(len(vectors))
        ]  # fmt: skip

    def faults(self, vectors: Poses) -> Faults:
        """What is invalid about poses."""
        return self.validators.faults(vectors)

    def invert(self, vectors: Poses) -> Poses:
        """The noise that ``decode`` turns into these poses."""
        return self.denoiser.invert(self.denoiser.to_normalised(vectors))

    def decode(self, noise: Poses) -> Poses:
        """The poses of noise; with as many steps as ``invert`` takes, the two are inverse."""
        return self.denoiser.to_vectors(self.denoiser.decode(noise, steps=64))

    def edit(
        self, motion: Motion, frame: int, handles: tuple[Handle, ...], *, reach: float = DEFAULT_REACH,
        pins: tuple[str, ...] | None = None,
    ) -> Edit:  # fmt: skip
        """A finished clip with handles met at one frame; the frames within ``reach`` seconds follow, the rest stays."""
        return edit_clip(self, motion, frame, handles, reach=reach, pins=pins)

    def walk(
        self, keys: Poses, *, seconds: float, fps: float = 30.0, method: PathMethod = "string", easing: Easing = "ends",
        lock_feet: bool = True,
    ) -> Motion:  # fmt: skip
        """A clip through the keyframes, as long as asked, the keyframes evenly spaced in time.

        ``easing`` says where it comes to rest; with ``lock_feet`` standing feet stay or step, and the body goes along.
        """
        if len(keys) < 2 or not seconds > 0:
            raise AkdError(f"A walk needs at least two keyframes and a positive duration, not {len(keys)} and {seconds} s.")
        if not 0 < seconds * fps <= MAX_WALK_FRAMES:
            raise AkdError(f"A walk has at most {MAX_WALK_FRAMES:,} frames, not {seconds * fps:,.0f}: make it shorter.")
        parts = len(keys) - 1
        each = max(round(seconds * fps / parts), 1)
        path = keyframe_path(self.denoiser, self.denoiser.to_normalised(keys), min(each, MAX_PATH_POINTS) - 1, method)
        vectors = self.denoiser.to_vectors(eased_path(path, parts, each, easing))
        motion = Motion(self.pose(vectors), parts * each / seconds)
        return stand_firmly(self.rig, motion, np.arange(0, parts * each + 1, each))[0] if lock_feet else motion

    def limits(self) -> list[JointLimits]:
        """The learned limits of all joints."""
        return joint_limits(self.rig.skeleton, self.denoiser, self.reference_poses)

    def angle_limits(self, *motions: Motion) -> Float[np.ndarray, "joint 3 2"]:
        """Least and largest angle of every joint about the axes of the skeleton, for a simulation [rad].

        They hold the rest pose, the rig's samples with a margin, and the given motions: what a character does, it can do.
        """
        angles = self.pose(self.reference_poses).angles.flatten(0, -3)
        low, high = angles.amin(0).clamp(max=0), angles.amax(0).clamp(min=0)
        margin = LIMIT_MARGIN * (high - low) + LEAST_MARGIN
        low, high = (low - margin).clamp(min=-torch.pi), (high + margin).clamp(max=torch.pi)
        for motion in motions:
            own = motion.pose.angles.to(low.dtype).flatten(0, -3)
            low, high = torch.minimum(low, own.amin(0) - LEAST_MARGIN), torch.maximum(high, own.amax(0) + LEAST_MARGIN)
        return torch.stack((low, high), -1).double().numpy()

    def energy(self, pose: Pose, randomness: torch.Generator) -> Float[Tensor, " pose"]:
        """How implausible poses are, with a gradient that points to plausible ones.

        ``½‖u − û‖²`` per joint, û the denoised u held fixed as in score distillation, plus the penalty of the validators.
        """
        vectors = pose_to_vectors(pose)
        normalised = self.denoiser.to_normalised(vectors)
        total = self.validators.penalty(vectors)
        for t in ENERGY_TIMES:
            alpha, sigma = noise_level(torch.tensor(t))
            noise = torch.randn(normalised.shape, generator=randomness, dtype=normalised.dtype)
            predicted = self.denoiser.denoise(alpha * normalised.detach() + sigma * noise, t)
            total = total + 0.5 * (normalised - predicted).square().sum((-1, -2)) / len(ENERGY_TIMES)
        return total / normalised.shape[-2]

    def pose(self, vectors: RotationVectors) -> Pose:
        """The poses, standing on the ground above where the rig stands at rest."""
        rest = torch.as_tensor(self.rig.skeleton.positions[0], dtype=vectors.dtype)
        flat, rig = vectors.reshape(-1, *vectors.shape[-2:]), self.descriptor
        posed = self.solver.kinematics.forward(flat, rest.expand(len(flat), 3))
        bones = torch.as_tensor(rig.tails - rig.positions, dtype=vectors.dtype)
        ends = posed.position + (posed.rotation @ bones[:, :, None]).squeeze(-1)
        lowest = torch.minimum(posed.position[..., 1], ends[..., 1]) - torch.as_tensor(rig.radius, dtype=vectors.dtype)
        at_rest = torch.as_tensor((rig.positions[:, 1].clip(max=rig.tails[:, 1]) - rig.radius).min())
        lift = (at_rest - lowest.amin(-1)).reshape(vectors.shape[:-2])
        up = torch.tensor((0.0, 1.0, 0.0), dtype=vectors.dtype)
        return vectors_to_pose(vectors, rest + lift[..., None].to(vectors.dtype) * up)


def covariance(denoiser: Denoiser, reference_poses: Poses) -> Float[Tensor, "dof dof"]:
    """Covariance of joint rotation vectors: of samples, with a share of independent spreads so that every joint can move."""
    flat = (reference_poses - reference_poses.mean(0)).flatten(1)
    return 0.8 * flat.T @ flat / len(flat) + torch.diag(0.2 * denoiser.spread.flatten().square() + 1e-5)
