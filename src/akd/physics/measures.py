"""Forces and torques in a simulated motion, and how closely it follows its target.

Contact forces, joint torques and assist torques follow from the states alone, because the simulation's forces are linear in
what a step changes.
"""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from akd.character.articulation import Articulation
from akd.physics.reference import Link, assist_torque, kinematics, up_in_root
from akd.physics.settings import Constants, State, contact_force
from akd.physics.simulate import Rollout


def ground_forces(body: Articulation, rollout: Rollout) -> Float[Tensor, "step *batch point 3"]:
    """The force of the ground on every contact point in every step [mass ℓ/s²]; the weight of the body is its gravity."""
    c = rollout.constants
    now = rollout.exact[:-1]
    links = kinematics(body, now)
    accelerations = _accelerations(body, rollout.exact, links, c)
    out = [now.position.new_zeros(*now.position.shape[:-1], 0, 3)]
    for i, link in enumerate(links):
        at = torch.as_tensor(body.points[body.point_link == i]).to(now.position)
        lever = at @ link.rotation.transpose(-1, -2)
        spin, velocity, alpha, accel = (x[..., None, :] for x in (link.spin, link.velocity, *accelerations[i]))
        force, resistance = contact_force(link.position[..., 1, None] + lever[..., 1], velocity + _cross(spin, lever), c)
        out.append(force - resistance * c.step * (accel + _cross(alpha, lever) + _cross(spin, _cross(spin, lever))))
    return torch.cat(out, -2)


def joint_torques(rollout: Rollout) -> Float[Tensor, "step *batch link 3"]:
    """The PD controllers' torques in every step [mass ℓ²/s²]; row 0 is zero."""
    c, after = rollout.constants, rollout.exact[1:]
    torque = c.stiffness * (rollout.targets.detach() - after.angles) - c.damping * after.rates
    return torch.cat((torch.zeros_like(torque[..., :1, :]), torque[..., 1:, :]), -2)


def assist_torques(rollout: Rollout) -> Float[Tensor, "step *batch 3"]:
    """The assist torque that kept the root upright in every step [mass ℓ²/s²]; zero unless the settings switch it on."""
    before, after = rollout.exact[:-1], rollout.exact[1:]
    up = up_in_root(rollout.exact[0])
    return assist_torque(before.rotation, after.spin, up.expand_as(after.spin), rollout.constants)


def _accelerations(body: Articulation, states: State, links: list[Link], c: Constants) -> list[tuple[Tensor, Tensor]]:
    """Angular and linear acceleration of every link at its joint."""
    spin, velocity, rates = (values.diff(dim=0) / c.step for values in (states.spin, states.velocity, states.rates))
    out = [(spin, velocity)]
    for i in range(1, body.link_count):
        parent, link = body.parents[i], links[i]
        alpha, accel = out[parent]
        centripetal = _cross(links[parent].spin, _cross(links[parent].spin, link.lever))
        joint = (link.axes @ rates[..., i, :, None]).squeeze(-1)
        out.append((alpha + link.bias + joint, accel + _cross(alpha, link.lever) + centripetal))
    return out


def _cross(a: Tensor, b: Tensor) -> Tensor:
    return torch.linalg.cross(*torch.broadcast_tensors(a, b))


def joint_error(joints: Float[np.ndarray, "frame joint 3"], target: Float[np.ndarray, "frame joint 3"]) -> float:
    """Mean distance between joints and those of the target [ℓ]."""
    return float(np.linalg.norm(joints - target, axis=-1).mean())


def coordinate_error(coordinates: Float[np.ndarray, "frame dof"], target: Float[np.ndarray, "frame dof"]) -> float:
    """Mean absolute difference of generalised coordinates (lengths in ℓ, angles in rad, both as given)."""
    return float(np.abs(coordinates - target).mean())


def upright_impulse(torque: Float[np.ndarray, "step 3"], weight_times_leg: float) -> float:
    """∫‖assist torque‖ dt / (m g ℓ T).

    ``weight_times_leg`` is m g ℓ in the torque's unit. Steps are equally long, so the integral over T is a mean.
    """
    return float(np.linalg.norm(torque, axis=-1).mean() / weight_times_leg)


def mechanical_work(
    torque: Float[np.ndarray, "step dof"], speed: Float[np.ndarray, "step dof"], step: float, weight_times_leg: float
) -> float:
    """Σ|τ · θ̇| Δt over steps and degrees of freedom, per m g ℓ."""
    return float(np.abs(torque * speed).sum() * step / weight_times_leg)
