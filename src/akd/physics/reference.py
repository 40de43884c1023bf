"""One step of the simulation, written to be read: the articulated body algorithm in world axes.

Every link is described at its joint. With α and a the angular and linear acceleration there, n and f the moment about the
joint and the force that the rest of the body must supply, a link (or all that hangs on it) obeys

    n = J α + H a + n₀,    f = Hᵀ α + M a + f₀ .

Joints only turn, so a joint's motion is its three axes A alone and everything stays in 3 × 3 blocks. ``kernel`` computes
the same numbers a thousand times faster; this module is the reference it is tested against, forward and, through torch,
backward.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from akd.character.articulation import Articulation
from akd.physics.settings import Constants, State, contact_force
from akd.rotations import quaternion_multiply, quaternion_to_matrix

Vector = Float[Tensor, "*batch 3"]
Matrix = Float[Tensor, "*batch 3 3"]
UP = torch.tensor((0.0, 1.0, 0.0), dtype=torch.float64)
LEVEL = torch.diag(torch.tensor((1.0, 0.0, 1.0), dtype=torch.float64))


class Link(NamedTuple):
    """Where a link is and how it moves, in stage axes."""

    rotation: Matrix
    """Turn away from rest."""
    axes: Matrix
    """Columns: the three axes its joint turns about (zero for the root)."""
    position: Vector
    """Of its joint."""
    lever: Vector
    """From the parent's joint to its own."""
    velocity: Vector
    """Of its joint."""
    spin: Vector
    """Angular velocity."""
    bias: Vector
    """Velocity-product acceleration: angular, against the parent, while the rates stay as they are, Ȧ θ̇."""


class Dynamics(NamedTuple):
    """Terms of the equation of motion of a link and all that hangs on it: see the top of this module."""

    J: Matrix
    H: Matrix
    M: Matrix
    n: Vector
    f: Vector

    def __add__(self, other: "Dynamics") -> "Dynamics":  # type: ignore[override]
        return Dynamics(*(own + others for own, others in zip(self, other, strict=True)))


def simulate(body: Articulation, start: State, targets: Float[Tensor, "step *batch link 3"], constants: Constants) -> list[State]:
    """The state before every step and after the last one; ``targets`` are the controllers' angles at the end of each step."""
    up = up_in_root(start.detach())
    states = [start]
    for target in targets:
        states.append(step(body, states[-1], target, up, constants))
    return states


def up_in_root(state: State) -> Vector:
    """The direction in the root that points up now, which is what the assist torque keeps up."""
    return quaternion_to_matrix(state.rotation).transpose(-1, -2) @ UP.to(state.position)


def step(body: Articulation, state: State, target: Float[Tensor, "*batch link 3"], up: Vector, constants: Constants) -> State:
    """One semi-implicit step: accelerations now, velocities from them, coordinates from the new velocities."""
    links = kinematics(body, state)
    subtree: list[Dynamics | None] = [None] * body.link_count
    solved = {}
    for i in reversed(range(body.link_count)):
        own = _link_dynamics(body, i, links[i], constants) + _contact_dynamics(body, i, links[i], constants)
        below = subtree[i]
        subtree[i] = own = own if below is None else own + below
        parent = body.parents[i]
        if parent >= 0:
            torque, resistance = _controller(state.angles[..., i, :], state.rates[..., i, :], target[..., i, :], constants)
            solved[i] = _solve_joint(own, links[i], torque, resistance)
            through = _through_joint(own, links[i], links[parent], *solved[i])
            before = subtree[parent]
            subtree[parent] = through if before is None else before + through
    return _integrate(body, state, links, subtree, solved, up, constants)


def kinematics(body: Articulation, state: State) -> list[Link]:
    """Rotations, positions and velocities from the root outwards."""
    rotation = quaternion_to_matrix(state.rotation)
    zero = torch.zeros_like(state.position)
    links = [Link(rotation, torch.zeros_like(rotation), state.position, zero, state.velocity, state.spin, zero)]
    for i in range(1, body.link_count):
        parent = links[body.parents[i]]
        frame = torch.as_tensor(body.frames[i]).to(zero)
        axes, turn = _compound_joint(state.angles[..., i, :])
        axes = parent.rotation @ frame @ axes
        lever = _apply(parent.rotation, torch.as_tensor(body.offsets[i]).to(zero))
        first, second, third = (axes * state.rates[..., i, None, :]).unbind(-1)
        relative = first + second + third
        bias = _cross(parent.spin, relative) + _cross(first, second) + _cross(first + second, third)
        links.append(Link(
            rotation=parent.rotation @ frame @ turn @ frame.T, axes=axes, position=parent.position + lever, lever=lever,
            velocity=parent.velocity + _cross(parent.spin, lever), spin=parent.spin + relative, bias=bias,
        ))  # fmt: skip
    return links


def _compound_joint(angles: Vector) -> tuple[Matrix, Matrix]:
    """The three axes of ``Rx(a) Ry(b) Rz(c)`` in the frame before the turn, and the turn itself."""
    (sa, sb, sc), (ca, cb, cc) = torch.sin(angles).unbind(-1), torch.cos(angles).unbind(-1)
    one, zero = torch.ones_like(sa), torch.zeros_like(sa)
    about_x = _matrix((one, zero, zero), (zero, ca, -sa), (zero, sa, ca))
    about_y = _matrix((cb, zero, sb), (zero, one, zero), (-sb, zero, cb))
    about_z = _matrix((cc, -sc, zero), (sc, cc, zero), (zero, zero, one))
    two = about_x @ about_y
    return torch.stack((torch.stack((one, zero, zero), -1), about_x[..., 1], two[..., 2]), -1), two @ about_z


def _link_dynamics(body: Articulation, i: int, link: Link, constants: Constants) -> Dynamics:
    """Newton and Euler for the link itself, its weight included."""
    mass = float(body.mass[i])
    com = _apply(link.rotation, torch.as_tensor(body.com[i]).to(link.position))
    about_com = link.rotation @ torch.as_tensor(body.inertia[i]).to(com) @ link.rotation.transpose(-1, -2)
    skew = _skew(com)
    force = mass * (_cross(link.spin, _cross(link.spin, com)) + constants.gravity * UP.to(com))
    moment = _cross(link.spin, _apply(about_com, link.spin)) + _cross(com, force)
    return Dynamics(about_com - mass * skew @ skew, mass * skew, mass * torch.eye(3).to(skew).expand_as(skew), moment, force)


def _contact_dynamics(body: Articulation, i: int, link: Link, constants: Constants) -> Dynamics:
    """The ground under all contact points of a link: forces f − G dt (acceleration of the point)."""
    at = torch.as_tensor(body.points[body.point_link == i]).to(link.position)
    lever = at @ link.rotation.transpose(-1, -2)
    spin = link.spin[..., None, :]
    height, velocity = link.position[..., 1, None] + lever[..., 1], link.velocity[..., None, :] + _cross(spin, lever)
    force, resistance = contact_force(height, velocity, constants)
    M = constants.step * torch.diag_embed(resistance)
    force = force - _apply(M, _cross(spin, _cross(spin, lever)))
    skew = _skew(lever)
    sums = ((-skew @ M @ skew).sum(-3), (skew @ M).sum(-3), M.sum(-3), -_cross(lever, force).sum(-2), -force.sum(-2))
    return Dynamics(*sums)


def _controller(angles: Vector, rates: Vector, target: Vector, c: Constants) -> tuple[Vector, float]:
    """The PD torque at the end of the step, τ − resistance · θ̈: implicit in the angles and rates that are still to come."""
    torque = c.stiffness * (target - angles - c.step * rates) - c.damping * rates
    return torque, c.step * (c.damping + c.step * c.stiffness)


def _solve_joint(subtree: Dynamics, link: Link, torque: Vector, resistance: float) -> tuple[Vector, Matrix]:
    """The joint equation Aᵀ n = τ − resistance θ̈ solved for θ̈: ``D⁻¹`` and the torque left when the joint does not accelerate."""
    inertia = link.axes.transpose(-1, -2) @ subtree.J @ link.axes + resistance * torch.eye(3).to(link.axes)
    return torque - _apply(link.axes.transpose(-1, -2), subtree.n), torch.linalg.inv(inertia)


def _through_joint(subtree: Dynamics, link: Link, parent: Link, torque: Vector, inverse: Matrix) -> Dynamics:
    """The dynamics of a link as its parent carries them through their joint, at the parent's own joint."""
    mobility = link.axes @ inverse @ link.axes.transpose(-1, -2)
    J = subtree.J - subtree.J @ mobility @ subtree.J
    H = subtree.H - subtree.J @ mobility @ subtree.H
    M = subtree.M - subtree.H.transpose(-1, -2) @ mobility @ subtree.H
    centripetal = _cross(parent.spin, _cross(parent.spin, link.lever))
    free_accel = _apply(link.axes @ inverse, torque)
    n = subtree.n + _apply(J, link.bias) + _apply(H, centripetal) + _apply(subtree.J, free_accel)
    Ht = subtree.H.transpose(-1, -2)
    f = subtree.f + _apply(H.transpose(-1, -2), link.bias) + _apply(M, centripetal) + _apply(Ht, free_accel)
    r = _skew(link.lever)
    Hr = H @ r
    return Dynamics(J - Hr - Hr.transpose(-1, -2) - r @ M @ r, H + r @ M, M, n + _cross(link.lever, f), f)


def _integrate(body, state, links, subtree, solved, up, c: Constants) -> State:
    """Accelerations from the root outwards, then the new state."""
    alpha, accel = _root_acceleration(body, links[0], subtree[0], up, c)
    alphas, accels, accelerations = [alpha], [accel], [torch.zeros_like(alpha)]
    for i in range(1, body.link_count):
        link, parent = links[i], body.parents[i]
        accel = accels[parent] + _cross(alphas[parent], link.lever)
        accel = accel + _cross(links[parent].spin, _cross(links[parent].spin, link.lever))
        alpha = alphas[parent] + link.bias
        torque, inverse = solved[i]
        inertial = _apply(subtree[i].J, alpha) + _apply(subtree[i].H, accel)
        acceleration = _apply(inverse, torque - _apply(link.axes.transpose(-1, -2), inertial))
        accelerations.append(acceleration)
        alphas.append(alpha + _apply(link.axes, acceleration))
        accels.append(accel)
    rates = state.rates + c.step * torch.stack(accelerations, -2)
    velocity, spin = state.velocity + c.step * accels[0], state.spin + c.step * alphas[0]
    turn = torch.cat((torch.ones_like(spin[..., :1]), c.step / 2 * spin), -1)
    rotation = quaternion_multiply(turn, state.rotation)
    rotation = rotation / rotation.norm(dim=-1, keepdim=True)
    return State(state.position + c.step * velocity, rotation, state.angles + c.step * rates, velocity, spin, rates)


def _root_acceleration(body: Articulation, root: Link, subtree: Dynamics, up: Vector, c: Constants) -> tuple[Vector, Vector]:
    """Nothing holds the root but the assist torque, so n and f of the whole body are that torque and zero."""
    if body.anchored:
        return torch.zeros_like(root.position), torch.zeros_like(root.position)
    torque = _assist(root.rotation, root.spin, up, c)
    HM = subtree.H @ torch.linalg.inv(subtree.M)
    inertia = subtree.J + c.step * _assist_drag(c) * LEVEL.to(up) - HM @ subtree.H.transpose(-1, -2)
    alpha = _apply(torch.linalg.inv(inertia), torque - subtree.n + _apply(HM, subtree.f))
    accel = -_apply(torch.linalg.inv(subtree.M), subtree.f + _apply(subtree.H.transpose(-1, -2), alpha))
    return alpha, accel


def assist_torque(rotation: Float[Tensor, "*batch 4"], spin_after: Vector, up: Vector, c: Constants) -> Vector:
    """The assist torque of a step that began in this rotation and ended with this spin [mass ℓ²/s²]."""
    return _assist(quaternion_to_matrix(rotation), spin_after, up, c)


def _assist(rotation: Matrix, spin: Vector, up: Vector, c: Constants) -> Vector:
    """A spring from where the root's up direction points to the vertical, damped about the level axes."""
    return c.assist_stiffness * _cross(_apply(rotation, up), UP.to(up)) - _assist_drag(c) * _apply(LEVEL.to(up), spin)


def _assist_drag(c: Constants) -> float:
    """Damping of the assist torque, with what its spring will gain or lose during the step."""
    return c.assist_damping + c.step * c.assist_stiffness


def _matrix(*rows: tuple[Tensor, Tensor, Tensor]) -> Matrix:
    return torch.stack([torch.stack(row, -1) for row in rows], -2)


def _apply(matrix: Tensor, vector: Tensor) -> Tensor:
    return (matrix @ vector[..., None]).squeeze(-1)


def _cross(a: Tensor, b: Tensor) -> Tensor:
    return torch.linalg.cross(*torch.broadcast_tensors(a, b))


def _skew(v: Tensor) -> Tensor:
    """The matrix of the cross product with v."""
    x, y, z = v.unbind(-1)
    zero = torch.zeros_like(x)
    return _matrix((zero, -z, y), (z, zero, -x), (-y, x, zero))
