"""The pose space of one rig: everything that can be asked about its poses.

space = PoseSpace.build(rig)
poses = space.sample(16, seed=1)
found = space.solve((Handle("hand_L", position=(0.4, 1.2, -0.3)),))
space.score(poses).percentile
"""

from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from akd.errors import AkdError
from akd.motion import Motion
from akd.posespace.denoiser import Denoiser, Poses
from akd.posespace.limits import JointLimits, limits_of
from akd.posespace.network import SHIPPED, level, load_network
from akd.posespace.representation import RigDescriptor, RotationVectors, pose_to_vectors, rig_descriptor, vectors_to_pose
from akd.posespace.scoring import PoseScorer, Score
from akd.posespace.solving import Chains, Handle, Solution, Solver
from akd.posespace.validity import Faults, Validators
from akd.posespace.walking import Way, walk
from akd.rig import Rig
from akd.rotations import quaternion_to_rotation_vector
from akd.skeleton import Pose

MEMORY = 96
"""Samples that a space keeps of its rig: for the covariance, to judge by, to start solving from."""
SPARE = 0.1
"""So many more samples are drawn than wanted, to replace those that cannot be repaired."""
ENERGY_TIMES = (0.15, 0.35)
"""Noise under which ``energy`` looks at poses."""


@dataclass(frozen=True, eq=False)
class PoseSpace:
    """What is known about the poses of a rig."""

    rig: Rig
    sketch: RigDescriptor
    denoiser: Denoiser
    validators: Validators
    judge: PoseScorer
    solver: Solver
    memory: Poses
    """Some of its own samples [rad]."""

    @classmethod
    def build(cls, rig: Rig, *, weights: Path = SHIPPED, seed: int = 0) -> "PoseSpace":
        """Read a rig into the network, and let it dream a little."""
        sketch = rig_descriptor(rig)
        denoiser = Denoiser.of(load_network(weights), sketch)
        validators = Validators.of(rig, sketch, denoiser)
        memory = denoiser.to_bends(denoiser.decode(denoiser.noise(MEMORY, seed)))
        chains = Chains.of(rig.skeleton)
        solver = Solver(denoiser, chains, covariance(denoiser, memory), memory)
        return cls(rig, sketch, denoiser, validators, PoseScorer.of(denoiser, memory), solver, memory)

    def sample(self, count: int, *, seed: int = 0, temperature: float = 1.0, repair: bool = True) -> Poses:
        """Plausible poses; the same seed gives the same ones. Low temperature stays near the usual."""
        if count < 1 or not temperature > 0:
            raise AkdError(f"Sampling needs a count of at least 1 and a positive temperature, not {count} and {temperature}.")
        drawn = count + (round(SPARE * count) + 1 if repair else 0)
        guide = self.validators.guided if repair else None
        poses = self.denoiser.to_bends(self.denoiser.decode(temperature * self.denoiser.noise(drawn, seed), guide=guide))
        if not repair:
            return poses
        poses = self.validators.repaired(poses)
        broken = (~self.faults(poses).sound).float()
        return poses[torch.argsort(broken, stable=True)[:count]]

    def solve(
        self,
        handles: tuple[Handle, ...],
        start: Pose | None = None,
        *,
        count: int = 1,
        free_root: bool = True,
        exact: bool = True,
    ) -> Solution:
        """Poses that meet the handles and are plausible otherwise; from ``start``, as in dragging, or from anywhere."""
        if start is None:
            return self.solver.solve(handles, count=count, free_root=free_root, exact=exact)
        batch = start if start.angles.ndim == 3 else start[None]
        return self.solver.solve(handles, full_bends(batch), batch.root_position, free_root=free_root, exact=exact)

    def project(self, bends: Poses, *, strength: float = 0.3, rounds: int = 4) -> Poses:
        """Broken poses pulled back to what is plausible; ``strength`` is the noise under which they are looked at."""
        if not 0 < strength < 1:
            raise AkdError(f"The strength of a projection lies between 0 and 1, not at {strength}.")
        unit = self.denoiser.to_unit(bends)
        for step in range(rounds):
            t = strength * (1 - step / rounds)
            alpha, _ = level(torch.tensor(t))
            unit = self.denoiser.guess(alpha * unit, t)
        return self.validators.repaired(self.denoiser.to_bends(unit))

    def score(self, bends: Poses) -> Score:
        """How plausible poses are, and which joint is to blame."""
        return self.judge.score(bends)

    def faults(self, bends: Poses) -> Faults:
        """What is impossible about poses."""
        return self.validators.faults(bends)

    def invert(self, bends: Poses) -> Poses:
        """The noise behind poses."""
        return self.denoiser.invert(self.denoiser.to_unit(bends))

    def decode(self, noise: Poses) -> Poses:
        """The poses behind noise; with as many steps as ``invert`` takes, it comes back to where it started."""
        return self.denoiser.to_bends(self.denoiser.decode(noise, steps=64))

    def walk(self, keys: Poses, *, seconds: float, fps: float = 30.0, way: Way = "string") -> Motion:
        """A clip through the keyframes, evenly timed."""
        if len(keys) < 2 or not seconds > 0:
            raise AkdError(f"A walk needs at least two keyframes and a positive duration, not {len(keys)} and {seconds} s.")
        between = max(round(seconds * fps / (len(keys) - 1)) - 1, 1)
        path = walk(self.denoiser, self.denoiser.to_unit(keys), between, way)
        return Motion(self.pose(self.denoiser.to_bends(path)), (len(path) - 1) / seconds)

    def limits(self) -> list[JointLimits]:
        """How far each joint goes, learned."""
        return limits_of(self.rig.skeleton, self.denoiser, self.memory)

    def energy(self, pose: Pose, randomness: torch.Generator) -> Float[Tensor, " pose"]:
        """How implausible poses are, with a gradient that points to plausible ones: a term for distillation.

        ``½‖u − û‖²`` per joint, û the denoiser's opinion held fixed as in score distillation, plus what validators say.
        """
        bends = pose_to_vectors(pose)
        unit = self.denoiser.to_unit(bends)
        total = self.validators.penalty(bends)
        for t in ENERGY_TIMES:
            alpha, sigma = level(torch.tensor(t))
            noise = torch.randn(unit.shape, generator=randomness, dtype=unit.dtype)
            guess = self.denoiser.guess(alpha * unit.detach() + sigma * noise, t)
            total = total + 0.5 * (unit - guess).square().sum((-1, -2)) / len(ENERGY_TIMES)
        return total / unit.shape[-2]

    def pose(self, bends: RotationVectors) -> Pose:
        """The poses, standing on the ground where the rig stands at rest."""
        rest = torch.as_tensor(self.rig.skeleton.positions[0], dtype=bends.dtype)
        placed = self.solver.chains.place(bends.reshape(-1, *bends.shape[-2:]), rest.expand(bends[..., 0, 0].numel(), 3))
        bones = torch.as_tensor(self.sketch.tails - self.sketch.positions, dtype=bends.dtype)
        ends = placed.position + (placed.rotation @ bones[:, :, None]).squeeze(-1)
        lowest = torch.minimum(placed.position[..., 1], ends[..., 1]) - torch.as_tensor(self.sketch.radius, dtype=bends.dtype)
        at_rest = torch.as_tensor((self.sketch.positions[:, 1].clip(max=self.sketch.tails[:, 1]) - self.sketch.radius).min())
        lift = (at_rest - lowest.amin(-1)).reshape(bends.shape[:-2])
        up = torch.tensor((0.0, 1.0, 0.0), dtype=bends.dtype)
        return vectors_to_pose(bends, rest + lift[..., None].to(bends.dtype) * up)


def covariance(denoiser: Denoiser, memory: Poses) -> Float[Tensor, "dof dof"]:
    """Of bends, from samples, with a share of independent spreads so that every joint can move a little."""
    flat = (memory - memory.mean(0)).flatten(1)
    return 0.8 * flat.T @ flat / len(flat) + torch.diag(0.2 * denoiser.spread.flatten().square() + 1e-5)


def full_bends(pose: Pose) -> Poses:
    """Bends whose root row holds the heading too: what solving starts from."""
    bends = pose_to_vectors(pose)
    turn = quaternion_to_rotation_vector(pose.root_rotation / pose.root_rotation.norm(dim=-1, keepdim=True))
    return torch.cat((turn[..., None, :], bends[..., 1:, :]), -2)
