"""The simulated body as MJCF, for MuJoCo: links, hinges, PD actuators, contact points, and a motion as keyframes.

MuJoCo's world has z up and we write it in metres, kilograms and seconds. A compound joint is three hinges in one body, which
MuJoCo composes in the order we do. The controllers' implicit stiffness is written as the joints' armature.
"""

import xml.etree.ElementTree as xml
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float

from akd.character.articulation import Articulation
from akd.cuboids import bone_cuboids
from akd.errors import AkdError
from akd.motion import Motion
from akd.physics.settings import PhysicsSettings, State, pose_of, state_at_rest
from akd.rig import GRAVITY, Rig
from akd.rotations import matrix_to_quaternion, quaternion_to_matrix
from akd.skeleton import Pose

R_mujoco_stage = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
"""From our axes (y up, z to the right) to MuJoCo's (z up, y to the left)."""
CONTACT_TIME = 0.03
"""Time constant of MuJoCo's contacts [√(ℓ/g)]; ours, at a stiffness of 1000 m g/ℓ, has the same for the whole weight."""
CONTACT_RADIUS = 0.004
"""Radius of the spheres at contact points [ℓ]: their lowest points are where ours are when the foot is level."""


@dataclass(frozen=True)
class _Units:
    """Our units in MuJoCo's."""

    metres: float
    kilograms: float

    @property
    def torque(self) -> float:
        """m g ℓ [N m]."""
        return self.kilograms * GRAVITY * self.metres

    @property
    def seconds(self) -> float:
        """√(ℓ/g) [s]."""
        return float(np.sqrt(self.metres / GRAVITY))


def to_mjcf(
    rig: Rig, body: Articulation, physics: PhysicsSettings, fps: float, motion: Motion | None = None,
    limits: Float[np.ndarray, "joint 3 2"] | None = None,
) -> str:  # fmt: skip
    """The body as MJCF text. Its keyframes are the motion's frames, in whose angles the actuators are to be controlled.

    ``limits`` are the least and the largest angle of every joint [rad]; without them joints turn freely, as in our simulation.
    """
    units, step = _Units(body.leg_metres, body.kilograms), 1 / (fps * physics.substeps)
    root = xml.Element("mujoco", model=rig.name)
    xml.SubElement(root, "compiler", angle="radian", autolimits="true")
    # Feet that stand must not creep: elliptic cones, and friction harder than the ground.
    xml.SubElement(
        root, "option", timestep=f"{step:.9g}", integrator="implicitfast", gravity=f"0 0 {-GRAVITY}", cone="elliptic",
        impratio="10",
    )  # fmt: skip
    _defaults(root, physics, units, step)
    world = xml.SubElement(root, "worldbody")
    xml.SubElement(world, "light", pos=_text((0, 0, 10 * units.metres)), dir="0 0 -1")
    xml.SubElement(world, "geom", name="floor", type="plane", size="0 0 1", contype="0", conaffinity="1", rgba=".75 .76 .78 1")
    links = _links(world, rig, body, units, limits)
    actuators = xml.SubElement(root, "actuator")
    for link in links[1:]:
        for joint in link.findall("joint"):
            xml.SubElement(actuators, "position", name=joint.get("name", ""), joint=joint.get("name", ""))
    if motion is not None:
        _keyframes(root, body, units, motion)
    xml.indent(root)
    return xml.tostring(root, encoding="unicode") + "\n"


def replay(
    text: str, body: Articulation, start: State, targets: Float[np.ndarray, "step link 3"], substeps: int, fps: float
) -> Motion:
    """The motion MuJoCo simulates from our initial state under our controls: an independent check of the dynamics.

    Only simulated joints move; the others stay straight.
    """
    mujoco = _mujoco()
    model = mujoco.MjModel.from_xml_string(text)
    data, units = mujoco.MjData(model), _Units(body.leg_metres, body.kilograms)
    data.qpos[:], data.qvel[:] = _qpos(body, units, start), _qvel(units, start)
    states = [data.qpos.copy()]
    for step, target in enumerate(targets):
        data.ctrl[:] = target[1:].ravel()
        mujoco.mj_step(model, data)
        if (step + 1) % substeps == 0:
            states.append(data.qpos.copy())
    return Motion(pose_of(body, _states(body, units, np.array(states))), fps)


def _mujoco():
    try:
        import mujoco
    except ImportError as error:
        raise AkdError("Replaying a motion in MuJoCo needs it installed: pip install mujoco.") from error
    return mujoco


def _defaults(root: xml.Element, physics: PhysicsSettings, units: _Units, step: float) -> None:
    stiffness = physics.stiffness * units.torque
    damping = physics.damping * units.torque * units.seconds
    default = xml.SubElement(root, "default")
    xml.SubElement(default, "joint", type="hinge", armature=f"{step**2 * stiffness:.6g}")
    xml.SubElement(default, "position", kp=f"{stiffness:.6g}", kv=f"{damping:.6g}")
    solref, solimp = f"{max(2.5 * step, CONTACT_TIME * units.seconds):.6g} 1", f".95 .99 {0.001 * units.metres:.6g}"
    xml.SubElement(default, "geom", friction=f"{physics.friction:g} 0 0", condim="3", solref=solref, solimp=solimp)


def _links(
    world: xml.Element, rig: Rig, body: Articulation, units: _Units, limits: Float[np.ndarray, "joint 3 2"] | None
) -> list[xml.Element]:
    """One nested element for each link."""
    cuboids = bone_cuboids(rig)
    out: list[xml.Element] = []
    for link, name in enumerate(body.names):
        parent = body.parents[link]
        position = rig.skeleton.positions[0] if parent < 0 else body.offsets[link]
        element = xml.SubElement(world if parent < 0 else out[parent], "body", name=name, pos=_position_text(position, units))
        if parent < 0:
            xml.SubElement(element, "freejoint", name="root")
        else:
            for number, (letter, axis) in enumerate(zip("xyz", body.frames[link].T, strict=True)):
                hinge = xml.SubElement(element, "joint", name=f"{name}.{letter}", axis=_text(R_mujoco_stage @ axis))
                if limits is not None:
                    hinge.set("range", _text(limits[body.joints[link], number]))
        _inertial(element, body, link, units)
        for joint in np.flatnonzero(body.link_of_joint == link):
            at = cuboids.center[joint] - rig.skeleton.positions[body.joints[link]]
            rotation = matrix_to_quaternion(torch.as_tensor(R_mujoco_stage @ _right_handed(cuboids.axes[joint])))
            half = np.maximum(cuboids.half[joint], 1e-4) * units.metres
            xml.SubElement(
                element, "geom", type="box", pos=_position_text(at, units), quat=_text(rotation.numpy()), size=_text(half),
                contype="0", conaffinity="0", mass="0", rgba=".8 .6 .4 1",
            )  # fmt: skip
        for point in body.points[body.point_link == link]:
            xml.SubElement(
                element, "geom", type="sphere", size=f"{CONTACT_RADIUS * units.metres:.6g}",
                pos=_position_text(point + (0, CONTACT_RADIUS, 0), units),
                contype="1", conaffinity="0", mass="0", rgba=".2 .2 .2 1",
            )  # fmt: skip
        out.append(element)
    return out


def _inertial(element: xml.Element, body: Articulation, link: int, units: _Units) -> None:
    inertia = R_mujoco_stage @ body.inertia[link] @ R_mujoco_stage.T * units.kilograms * units.metres**2
    full = [inertia[i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
    xml.SubElement(
        element, "inertial", pos=_position_text(body.com[link], units), mass=f"{body.mass[link] * units.kilograms:.9g}",
        fullinertia=_text(full),
    )  # fmt: skip


def _keyframes(root: xml.Element, body: Articulation, units: _Units, motion: Motion) -> None:
    states = state_at_rest(body, motion.pose.to(torch.float64))
    keys = xml.SubElement(root, "keyframe")
    for frame, at in enumerate(motion.times):
        qpos = _qpos(body, units, states[frame])
        xml.SubElement(keys, "key", name=f"frame{frame}", time=f"{at:.6g}", qpos=_text(qpos), ctrl=_text(qpos[7:]))


def _qpos(body: Articulation, units: _Units, state: State) -> Float[np.ndarray, " coordinate"]:
    """Root position [m], root quaternion, and the hinges' angles."""
    rotation = state.rotation.double().numpy()
    return np.concatenate((
        R_mujoco_stage @ state.position.double().numpy() * units.metres, rotation[:1], R_mujoco_stage @ rotation[1:],
        state.angles[1:].double().numpy().ravel(),
    ))  # fmt: skip


def _qvel(units: _Units, state: State) -> Float[np.ndarray, " coordinate"]:
    """Root velocity [m/s], spin in the root's own axes, and the hinges' rates."""
    spin_in_root = quaternion_to_matrix(state.rotation.double()).numpy().T @ state.spin.double().numpy()
    return np.concatenate((
        R_mujoco_stage @ state.velocity.double().numpy() * units.metres, R_mujoco_stage @ spin_in_root,
        state.rates[1:].double().numpy().ravel(),
    ))  # fmt: skip


def _states(body: Articulation, units: _Units, qpos: Float[np.ndarray, "frame coordinate"]) -> State:
    """MuJoCo's coordinates as states of ours, without velocities."""
    back = R_mujoco_stage.T
    angles = np.concatenate((np.zeros((len(qpos), 1, 3)), qpos[:, 7:].reshape(len(qpos), -1, 3)), 1)
    parts = qpos[:, :3] @ back.T / units.metres, np.concatenate((qpos[:, 3:4], qpos[:, 4:7] @ back.T), 1), angles
    position, rotation, link_angles = (torch.as_tensor(part, dtype=torch.float32) for part in parts)
    skeleton_angles = torch.zeros(len(qpos), len(body.link_of_joint), 3)
    skeleton_angles[:, torch.as_tensor(body.joints)] = link_angles
    return state_at_rest(body, Pose(position, rotation, skeleton_angles))


def _right_handed(axes: Float[np.ndarray, "3 3"]) -> Float[np.ndarray, "3 3"]:
    return axes * np.array([1.0, 1.0, np.sign(np.linalg.det(axes))])


def _position_text(vector: np.ndarray, units: _Units) -> str:
    return _text(R_mujoco_stage @ np.asarray(vector) * units.metres)


def _text(values) -> str:
    return " ".join(f"{float(value):.9g}" for value in values)
