"""Tolerances of a tracked motion (error, penetration, float, skating, jerk, assist impulse) and by how much it exceeds them."""

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
from akd.physics.measures import assist_torques, joint_error, upright_impulse
from akd.physics.simulate import Rollout
from akd.physics.state import pose_of
from akd.rig import Rig

WALK_DUTY_FACTOR = 0.5
"""Duty factor above which a motion is a walk, which has no flight phase."""


@dataclass(frozen=True)
class Tolerances:
    """The largest value allowed of each measure that should be small."""

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
    """Of the assist torque, ∫‖τ‖ dt / (m g ℓ T)."""

    def ratios(self, error: float, impulse: float, target: Evaluation, simulated: Evaluation) -> dict[str, float]:
        """Each measure over its tolerance, by name; above 1 it is exceeded."""
        walks = (target.duty_factor or 0) > WALK_DUTY_FACTOR
        return {
            "error": error / self.error,
            "penetration": simulated.penetration_max / self.penetration,
            "float": simulated.float_height / self.floating if walks else 0.0,
            "skating": (simulated.skating_ratio or 0) / self.skating,
            "jerk": (simulated.jerk or 0) / (self.jerk * max(target.jerk or 0, 1e-9)),
            "impulse": impulse / self.impulse,
        }


def exceeded(ratios: dict[str, float]) -> tuple[str, ...]:
    """Names of the tolerances that are exceeded."""
    return tuple(name for name, ratio in ratios.items() if ratio > 1)


def total_excess(ratios: dict[str, float]) -> float:
    """Σ log₂ of all ratios above 1, so that a factor of two counts alike for each; 0 where all tolerances are met."""
    return sum(math.log2(max(ratio, 1.0)) for ratio in ratios.values())


@dataclass(frozen=True, eq=False)
class RolloutEvaluator:
    """The cost of a rollout, by how much it exceeds the tolerances, and its motion at the frames of the clip."""

    rig: Rig
    body: Articulation
    target: Motion
    """At the frames of the clip."""
    angles: Float[torch.Tensor, "moment joint 3"]
    """Of the target at the rate of the controls: joints that are not simulated move by them."""
    tolerances: Tolerances | None
    """None: every rollout costs 0."""

    @cached_property
    def target_trace(self) -> Trace:
        return trace(self.rig, self.target)

    @cached_property
    def target_metrics(self) -> Evaluation:
        """Metrics of the target."""
        return evaluate_trace(self.rig, self.target_trace, from_file=False)

    @property
    def step_count(self) -> int:
        """Control intervals from the first frame of the clip to its last; a loop is simulated a little longer."""
        return self.controls_per_frame * (self.target.frame_count - 1)

    @property
    def controls_per_frame(self) -> int:
        return (len(self.angles) - 1) // (self.target.frame_count - 1)

    def motion(self, rollout: Rollout) -> Motion:
        """The simulated motion at the frames of the clip."""
        pose = pose_of(self.body, rollout.until(self.step_count).frames, self.angles[: self.step_count + 1])
        return Motion(pose[:: self.controls_per_frame].to(torch.float32), self.target.fps)

    def __call__(self, rollout: Rollout) -> float:
        """The total excess over the tolerances; 0 is good enough."""
        if self.tolerances is None:
            return 0.0
        simulated = trace(self.rig, self.motion(rollout))
        assist: Float[np.ndarray, "step 3"] = assist_torques(rollout.until(self.step_count)).numpy()
        impulse = upright_impulse(assist, self.body.gravity)
        error = joint_error(simulated.joints, self.target_trace.joints)
        metrics = evaluate_trace(self.rig, simulated, from_file=False)
        return total_excess(self.tolerances.ratios(error, impulse, self.target_metrics, metrics))
