"""How closely a simulated motion follows its target."""

import numpy as np
from jaxtyping import Float


def joint_error(joints: Float[np.ndarray, "frame joint 3"], target: Float[np.ndarray, "frame joint 3"]) -> float:
    """Mean distance between joints and where they should be [ℓ]."""
    return float(np.linalg.norm(joints - target, axis=-1).mean())


def coordinate_error(coordinates: Float[np.ndarray, "frame dof"], target: Float[np.ndarray, "frame dof"]) -> float:
    """Mean absolute difference of generalised coordinates (lengths in ℓ, turns in rad, both as given)."""
    return float(np.abs(coordinates - target).mean())


def upright_impulse(torque: Float[np.ndarray, "step 3"], weight_times_leg: float) -> float:
    """∫‖virtual torque‖ dt / (m g ℓ T): how much the crutch that keeps the root upright was leaned on.

    ``weight_times_leg`` is m g ℓ in the torque's unit. Steps are equally long, so the integral over T is a mean.
    """
    return float(np.linalg.norm(torque, axis=-1).mean() / weight_times_leg)


def mechanical_work(
    torque: Float[np.ndarray, "step dof"], speed: Float[np.ndarray, "step dof"], step: float, weight_times_leg: float
) -> float:
    """Σ|τ · θ̇| Δt over steps and degrees of freedom, per m g ℓ."""
    return float(np.abs(torque * speed).sum() * step / weight_times_leg)
