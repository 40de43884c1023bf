"""How a motion is tracked, ours and the paper's way, and the tolerances that a tracked motion should meet."""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float

from akd.character.articulation import Articulation
from akd.contact.prepare import TargetSettings
from akd.contact.traces import Trace, trace
from akd.errors import AkdError
from akd.measure.evaluation import Evaluation, evaluate_trace
from akd.motion import Motion
from akd.physics.measures import assist_torques, joint_error, upright_impulse
from akd.physics.settings import PhysicsSettings, pose_of
from akd.physics.simulate import Rollout
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


@dataclass(frozen=True)
class TrackSettings:
    """Iterations, rates and weights of the three stages of ``search``."""

    window: int = 4
    """Frames of the first stage's windows."""
    window_iterations: int = 15
    """Steps of Adam on all windows side by side."""
    follow_iterations: int = 1
    """Gauss–Newton steps at every frame of the second stage (receding horizon); 0 leaves it out."""
    whole_iterations: int = 60
    """Steps of Adam on the whole clip."""
    rate: float = 0.02
    """Learning rate for windows of four frames [rad]; longer ones take smaller steps, with the root of their length."""
    whole_rate_share: float = 0.4
    """Share of it for the whole clip, which starts near a solution."""
    final_rate_share: float = 0.1
    """Share of the learning rate that is left at the end of each stage."""
    rotation_weight: float = 0.5
    """Weight of the bones' rotations against their positions; with too little, heads are spun to keep balance."""
    sole_weight: float = 1.0
    """Weight of the soles' contact points; 0 leaves the paper's loss."""
    velocity_weight: float = 0.3
    """Weight of velocities, in √(g ℓ): against trembling. 0 leaves the paper's loss."""
    slip_weight: float = 0.2
    """Weight of the velocity over the ground of feet in stance [s]; 0 leaves the paper's loss."""
    clearance_weight: float = 3.0
    """Weight of how far swinging feet are below their target, against scuffing; 0 leaves the paper's loss."""
    smoothness_weight: float = 0.2
    """λ3: weight of the change of controls from one to the next."""
    every: Literal["frame", "substep"] = "frame"
    """Controls at every frame, with straight lines between, or at every substep as in the paper."""
    attempts: int = 4
    """Largest number of repetitions of the last two stages; they end once the rollout is within the tolerances."""
    tolerances: Tolerances | None = field(default_factory=Tolerances)
    """By which the best rollout is chosen; None: by the loss alone."""
    assist: bool = True
    """Try once more with the assist torque if the body falls without it."""
    target: TargetSettings = field(default_factory=TargetSettings)
    """How the target is prepared."""
    physics: PhysicsSettings = field(default_factory=lambda: PhysicsSettings(contact_stiffness=1000.0, clip_norm=30.0))
    """Stiff contact, so that feet do not sink in where they land; and a gradient norm that suits a sum over all bones."""

    def __post_init__(self) -> None:
        for name in ("window", "whole_iterations", "attempts"):
            if getattr(self, name) < 1:
                raise AkdError(f"{name} must be at least 1, not {getattr(self, name)}.")
        if self.every == "substep" and self.follow_iterations:
            raise AkdError("Controls at every substep are found for the whole clip at once: set follow_iterations to 0.")


PAPER = TrackSettings(
    window_iterations=0, follow_iterations=0, whole_iterations=200, rate=0.01, whole_rate_share=1.0, final_rate_share=1.0,
    sole_weight=0.0, velocity_weight=0.0, slip_weight=0.0, clearance_weight=0.0, every="substep", attempts=1, tolerances=None,
    assist=False, target=TargetSettings(lock=False), physics=PhysicsSettings(substeps=100, assist_stiffness=1.0),
)  # fmt: skip
"""AKD's own way: the whole clip from the start, controls at every substep, an assist torque, no foot locking."""
RECIPES: dict[str, TrackSettings] = {"default": TrackSettings(), "paper": PAPER}
