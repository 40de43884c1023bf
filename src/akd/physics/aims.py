"""What a tracked motion should reach: near its target, feet that neither sink, float nor skate, calm, and on its own feet."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float

from akd.character.articulation import Articulation
from akd.contact.traces import Trace, trace
from akd.measure.evaluation import Evaluation, evaluate_trace
from akd.motion import Motion
from akd.physics.measures import joint_error, support_torques, upright_impulse
from akd.physics.simulate import Rollout
from akd.physics.state import pose_of
from akd.rig import Rig

WALKS = 0.5
"""Duty factor above which a motion is a walk, whose body is never in the air."""


@dataclass(frozen=True)
class Aims:
    """The most there may be of everything that should be small."""

    error: float = 0.05
    """Mean distance of joints from the target [ℓ]."""
    penetration: float = 0.01
    """Of the deepest vertex of all frames [ℓ]."""
    floating: float = 0.02
    """Mean height of the lowest vertex, where the target walks [ℓ]."""
    skating: float = 0.05
    """Share of the frames of feet in contact."""
    jerk: float = 1.5
    """Times that of the target."""
    impulse: float = 0.1
    """Of the virtual upright torque, ∫‖τ‖ dt / (m g ℓ T)."""

    def shares(self, error: float, impulse: float, target: Evaluation, simulated: Evaluation) -> dict[str, float]:
        """How much there is of what is allowed, by name: an aim is missed where this is above 1."""
        walks = (target.duty_factor or 0) > WALKS
        return {
            "error": error / self.error,
            "penetration": simulated.penetration_max / self.penetration,
            "float": simulated.float_height / self.floating if walks else 0.0,
            "skating": (simulated.skating_ratio or 0) / self.skating,
            "jerk": (simulated.jerk or 0) / (self.jerk * max(target.jerk or 0, 1e-9)),
            "impulse": impulse / self.impulse,
        }


def missed(shares: dict[str, float]) -> tuple[str, ...]:
    """The aims that are not reached."""
    return tuple(name for name, share in shares.items() if share > 1)


def shortfall(shares: dict[str, float]) -> float:
    """How far all aims together are missed, twice as far counting alike for each of them; 0 where all are reached."""
    return sum(math.log2(max(share, 1.0)) for share in shares.values())


@dataclass(frozen=True, eq=False)
class AimJudge:
    """Says how far a rollout is from the aims, and what motion it is."""

    rig: Rig
    body: Articulation
    target: Motion
    """At the frames of the clip."""
    angles: Float[torch.Tensor, "moment joint 3"]
    """Of the target at the rate of the controls: joints that are not simulated move by them."""
    aims: Aims | None
    """None: all rollouts are good enough."""

    @cached_property
    def wanted(self) -> Trace:
        """What the target does."""
        return trace(self.rig, self.target)

    @cached_property
    def target_metrics(self) -> Evaluation:
        """How good the target is."""
        return evaluate_trace(self.rig, self.wanted, from_file=False)

    @property
    def moments(self) -> int:
        """Frames of the controls from the beginning of the clip to its end; a loop is simulated a little longer."""
        return self.fine * (self.target.frame_count - 1)

    @property
    def fine(self) -> int:
        """Moments of control per frame."""
        return (len(self.angles) - 1) // (self.target.frame_count - 1)

    def motion(self, rollout: Rollout) -> Motion:
        """What the body did, at the frames of the clip."""
        pose = pose_of(self.body, rollout.until(self.moments).frames, self.angles[: self.moments + 1])
        return Motion(pose[:: self.fine].to(torch.float32), self.target.fps)

    def __call__(self, rollout: Rollout) -> float:
        """The shortfall; 0 is good enough."""
        if self.aims is None:
            return 0.0
        seen = trace(self.rig, self.motion(rollout))
        upright: Float[np.ndarray, "step 3"] = support_torques(rollout.until(self.moments)).numpy()
        return shortfall(
            self.aims.shares(
                joint_error(seen.joints, self.wanted.joints), upright_impulse(upright, self.body.gravity), self.target_metrics,
                evaluate_trace(self.rig, seen, from_file=False),
            )
        )  # fmt: skip
