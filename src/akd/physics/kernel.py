"""The simulation as one Warp kernel: a launch runs many steps of whole articulations, on CPU and CUDA from one source.

The equations and their names are those of ``twin``. What is different is for Warp's adjoint's sake:
- Everything a step computes goes into arrays indexed by step and link, and every cell is written once. A parent collects
  its children by a running sum over siblings (``first_child``, ``next_sibling``) instead of accumulating in place; where
  there is none, these point at one more column of the arrays, which stays zero.
- What a loop sums up is not known to the adjoint of the lines after it, and a variable that is changed in place (``+=``)
  must not have been used before. So ``touch`` sums and stores, and does nothing else.
- The passes over the links are functions whose replay does nothing: the arrays still hold what the forward launch
  wrote, so a backward launch need not compute the step again before differentiating it.

All of it is in double precision: a foot pressed to the ground is thousands of times stiffer than it is heavy, and what its
shin feels of that is a small difference. Single precision saves a sixth of the time and comes apart on spiders.
"""

# mypy: ignore-errors

import os

import warp as wp


def _start_warp() -> None:
    """Only the command line prints, and Warp would say, from C, that this machine has no CUDA."""
    wp.config.log_level = wp.LOG_ERROR
    stderr = os.dup(2)
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
            wp.init()
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)


_start_warp()
wp.set_module_options({"optimization_level": 3, "fast_math": True})
real = wp.float64
vec = wp.vec3d
quat = wp.vec4d
mat = wp.mat33d


@wp.struct
class Model:
    """A body, see ``body.Body``, but with inertias about the joints."""

    parents: wp.array(dtype=int)
    first_child: wp.array(dtype=int)
    next_sibling: wp.array(dtype=int)
    offsets: wp.array(dtype=vec)
    frames: wp.array(dtype=mat)
    mass: wp.array(dtype=real)
    com: wp.array(dtype=vec)
    inertia: wp.array(dtype=mat)
    points: wp.array(dtype=vec)
    point_start: wp.array(dtype=int)
    reach: wp.array(dtype=real)
    anchored: int


@wp.struct
class World:
    """See ``settings.Constants``."""

    step: real
    stiffness: real
    damping: real
    ground_stiffness: real
    ground_damping: real
    friction: real
    creep: real
    upright: real
    upright_damping: real
    gravity: real


@wp.struct
class Trajectory:
    """Coordinates and velocities before and after every step, see ``state.State``."""

    position: wp.array2d(dtype=vec)
    rotation: wp.array2d(dtype=quat)
    angles: wp.array3d(dtype=vec)
    velocity: wp.array2d(dtype=vec)
    spin: wp.array2d(dtype=vec)
    rates: wp.array3d(dtype=vec)


@wp.struct
class Work:
    """What the passes of a step leave for each other, step × sample × link."""

    rotation: wp.array3d(dtype=mat)
    axes: wp.array3d(dtype=mat)
    position: wp.array3d(dtype=vec)
    arm: wp.array3d(dtype=vec)
    velocity: wp.array3d(dtype=vec)
    spin: wp.array3d(dtype=vec)
    drift: wp.array3d(dtype=vec)
    J: wp.array3d(dtype=mat)
    H: wp.array3d(dtype=mat)
    M: wp.array3d(dtype=mat)
    n: wp.array3d(dtype=vec)
    f: wp.array3d(dtype=vec)
    own_J: wp.array3d(dtype=mat)
    own_H: wp.array3d(dtype=mat)
    own_M: wp.array3d(dtype=mat)
    own_n: wp.array3d(dtype=vec)
    own_f: wp.array3d(dtype=vec)
    inverse: wp.array3d(dtype=mat)
    torque: wp.array3d(dtype=vec)
    felt_J: wp.array3d(dtype=mat)
    felt_H: wp.array3d(dtype=mat)
    felt_M: wp.array3d(dtype=mat)
    felt_n: wp.array3d(dtype=vec)
    felt_f: wp.array3d(dtype=vec)
    turning: wp.array3d(dtype=vec)
    moving: wp.array3d(dtype=vec)


@wp.func
def matrix_of(q: quat):
    w, x, y, z = q[0], q[1], q[2], q[3]
    one, two = real(1.0), real(2.0)
    return mat(
        one - two * (y * y + z * z), two * (x * y - w * z), two * (x * z + w * y),
        two * (x * y + w * z), one - two * (x * x + z * z), two * (y * z - w * x),
        two * (x * z - w * y), two * (y * z + w * x), one - two * (x * x + y * y),
    )  # fmt: skip


@wp.func
def place(model: Model, at: Trajectory, work: Work, s: int, k: int, b: int, i: int):
    """Twin: ``kinematics``. s counts all steps, k those of this launch."""
    if i == 0:
        work.rotation[k, b, i] = matrix_of(at.rotation[s, b] / wp.length(at.rotation[s, b]))
        work.position[k, b, i] = at.position[s, b]
        work.velocity[k, b, i] = at.velocity[s, b]
        work.spin[k, b, i] = at.spin[s, b]
    else:
        parent = model.parents[i]
        turned = work.rotation[k, b, parent] * model.frames[i]
        spin = work.spin[k, b, parent]
        angles = at.angles[s, b, i]
        rates = at.rates[s, b, i]
        sa, sb, sc = wp.sin(angles[0]), wp.sin(angles[1]), wp.sin(angles[2])
        ca, cb, cc = wp.cos(angles[0]), wp.cos(angles[1]), wp.cos(angles[2])
        one, zero = real(1.0), real(0.0)
        axes = turned * mat(one, zero, sb, zero, ca, -sa * cb, zero, sa, ca * cb)
        turn = mat(
            cb * cc, -cb * sc, sb,
            ca * sc + sa * sb * cc, ca * cc - sa * sb * sc, -sa * cb,
            sa * sc - ca * sb * cc, sa * cc + ca * sb * sc, ca * cb,
        )  # fmt: skip
        arm = work.rotation[k, b, parent] * model.offsets[i]
        first = axes * vec(rates[0], zero, zero)
        second = axes * vec(zero, rates[1], zero)
        third = axes * vec(zero, zero, rates[2])
        relative = first + second + third
        work.rotation[k, b, i] = turned * turn * wp.transpose(model.frames[i])
        work.axes[k, b, i] = axes
        work.arm[k, b, i] = arm
        work.position[k, b, i] = work.position[k, b, parent] + arm
        work.velocity[k, b, i] = work.velocity[k, b, parent] + wp.cross(spin, arm)
        work.spin[k, b, i] = spin + relative
        work.drift[k, b, i] = wp.cross(spin, relative) + wp.cross(first, second) + wp.cross(first + second, third)


@wp.func
def touch(model: Model, world: World, work: Work, k: int, b: int, i: int):
    """Twin: ``_rigid``, ``_touching``."""
    rotation = work.rotation[k, b, i]
    position = work.position[k, b, i]
    velocity = work.velocity[k, b, i]
    spin = work.spin[k, b, i]
    reach = model.reach[i]
    zero = real(0.0)
    J, H, M = mat(), mat(), mat()
    n, f = vec(), vec()
    mass = model.mass[i]
    com = rotation * model.com[i]
    inertia = rotation * model.inertia[i] * wp.transpose(rotation)
    weight = mass * (wp.cross(spin, wp.cross(spin, com)) + vec(zero, world.gravity, zero))
    moment = wp.cross(spin, inertia * spin) + wp.cross(com, vec(zero, mass * world.gravity, zero))
    if position[1] < reach + world.step * (wp.length(velocity) + wp.length(spin) * reach):
        for p in range(model.point_start[i], model.point_start[i + 1]):
            arm = rotation * model.points[p]
            speed = velocity + wp.cross(spin, arm)
            depth = -position[1] - arm[1] - world.step * speed[1]
            eager = real(1.0) - world.ground_damping * speed[1]
            if depth > zero and eager > zero:
                normal = world.ground_stiffness * depth * eager
                give = world.step * world.ground_stiffness * (world.step * eager + world.ground_damping * depth)
                along = speed[0] * speed[0] + speed[2] * speed[2]
                drag = world.friction * normal / wp.sqrt(along + world.creep * world.creep)
                held = world.step * drag
                G = mat(held, zero, zero, zero, give, zero, zero, zero, held)
                force = vec(-drag * speed[0], normal, -drag * speed[2]) - G * wp.cross(spin, wp.cross(spin, arm))
                r = wp.skew(arm)
                rG = r * G
                J -= rG * r
                H += rG
                M += G
                n -= wp.cross(arm, force)
                f -= force
    work.own_J[k, b, i] = inertia + J
    work.own_H[k, b, i] = wp.skew(mass * com) + H
    work.own_M[k, b, i] = mat(mass, zero, zero, zero, mass, zero, zero, zero, mass) + M
    work.own_n[k, b, i] = moment + n
    work.own_f[k, b, i] = weight + f


@wp.func
def gather(model: Model, world: World, at: Trajectory, target: wp.array3d(dtype=vec), work: Work, s: int, k: int, b: int, i: int):
    """Twin: ``_controller``, ``_solve_joint``, ``_through_joint``."""
    child = model.first_child[i]
    J = work.own_J[k, b, i] + work.felt_J[k, b, child]
    H = work.own_H[k, b, i] + work.felt_H[k, b, child]
    M = work.own_M[k, b, i] + work.felt_M[k, b, child]
    n = work.own_n[k, b, i] + work.felt_n[k, b, child]
    f = work.own_f[k, b, i] + work.felt_f[k, b, child]
    zero = real(0.0)
    work.J[k, b, i] = J
    work.H[k, b, i] = H
    work.n[k, b, i] = n

    if i == 0:
        work.M[k, b, i] = M
        work.f[k, b, i] = f
    else:
        axes = work.axes[k, b, i]
        drift = work.drift[k, b, i]
        arm = work.arm[k, b, i]
        rates = at.rates[s, b, i]
        stiff = world.step * world.stiffness
        damped = stiff + world.damping
        torque = world.stiffness * (target[s, b, i] - at.angles[s, b, i]) - damped * rates
        torque = torque - wp.transpose(axes) * n
        give = world.step * damped
        JA = J * axes
        inverse = wp.inverse(wp.transpose(axes) * JA + mat(give, zero, zero, zero, give, zero, zero, zero, give))
        work.torque[k, b, i] = torque
        work.inverse[k, b, i] = inverse

        HtA = wp.transpose(H) * axes
        JAD = JA * inverse
        J2 = J - JAD * wp.transpose(JA)
        H2 = H - JAD * wp.transpose(HtA)
        M2 = M - HtA * inverse * wp.transpose(HtA)
        around = work.spin[k, b, model.parents[i]]
        swung = wp.cross(around, wp.cross(around, arm))
        push = inverse * torque
        n2 = n + J2 * drift + H2 * swung + JA * push
        f2 = f + wp.transpose(H2) * drift + M2 * swung + HtA * push
        r = wp.skew(arm)
        Hr = H2 * r
        rM = r * M2
        sibling = model.next_sibling[i]
        work.felt_J[k, b, i] = J2 - Hr - wp.transpose(Hr) - rM * r + work.felt_J[k, b, sibling]
        work.felt_H[k, b, i] = H2 + rM + work.felt_H[k, b, sibling]
        work.felt_M[k, b, i] = M2 + work.felt_M[k, b, sibling]
        work.felt_n[k, b, i] = n2 + wp.cross(arm, f2) + work.felt_n[k, b, sibling]
        work.felt_f[k, b, i] = f2 + work.felt_f[k, b, sibling]


@wp.func
def advance(model: Model, world: World, up: wp.array(dtype=vec), at: Trajectory, work: Work, s: int, k: int, b: int, i: int):
    """Twin: ``_root_acceleration``, ``_advance``."""
    zero = real(0.0)
    if i == 0:
        turning = vec(zero, zero, zero)
        moving = vec(zero, zero, zero)
        if model.anchored == 0:
            drag = world.upright_damping + world.step * world.upright
            lag = world.step * drag
            spin = work.spin[k, b, 0]
            H = work.H[k, b, 0]
            solid = wp.inverse(work.M[k, b, 0])
            slide = H * solid
            upward = work.rotation[k, b, 0] * up[b]
            torque = world.upright * wp.cross(upward, vec(zero, real(1.0), zero)) - drag * vec(spin[0], zero, spin[2])
            inertia = work.J[k, b, 0] - slide * wp.transpose(H) + mat(lag, zero, zero, zero, zero, zero, zero, zero, lag)
            turning = wp.inverse(inertia) * (torque - work.n[k, b, 0] + slide * work.f[k, b, 0])
            moving = -solid * (work.f[k, b, 0] + wp.transpose(H) * turning)
        work.turning[k, b, 0] = turning
        work.moving[k, b, 0] = moving
        velocity = at.velocity[s, b] + world.step * moving
        rolled = at.spin[s, b] + world.step * turning
        h = real(0.5) * world.step * rolled
        q = at.rotation[s, b]
        turned = quat(
            q[0] - h[0] * q[1] - h[1] * q[2] - h[2] * q[3],
            q[1] + h[0] * q[0] + h[1] * q[3] - h[2] * q[2],
            q[2] - h[0] * q[3] + h[1] * q[0] + h[2] * q[1],
            q[3] + h[0] * q[2] - h[1] * q[1] + h[2] * q[0],
        )
        at.velocity[s + 1, b] = velocity
        at.spin[s + 1, b] = rolled
        at.position[s + 1, b] = at.position[s, b] + world.step * velocity
        at.rotation[s + 1, b] = turned / wp.length(turned)
        at.angles[s + 1, b, 0] = at.angles[s, b, 0] + world.step * at.rates[s, b, 0]
        at.rates[s + 1, b, 0] = at.rates[s, b, 0]
    else:
        parent = model.parents[i]
        arm = work.arm[k, b, i]
        axes = work.axes[k, b, i]
        around = work.spin[k, b, parent]
        before = work.turning[k, b, parent]
        moving = work.moving[k, b, parent] + wp.cross(before, arm) + wp.cross(around, wp.cross(around, arm))
        turning = before + work.drift[k, b, i]
        needed = wp.transpose(axes) * (work.J[k, b, i] * turning + work.H[k, b, i] * moving)
        acceleration = work.inverse[k, b, i] * (work.torque[k, b, i] - needed)
        rates = at.rates[s, b, i] + world.step * acceleration
        work.turning[k, b, i] = turning + axes * acceleration
        work.moving[k, b, i] = moving
        at.rates[s + 1, b, i] = rates
        at.angles[s + 1, b, i] = at.angles[s, b, i] + world.step * rates


@wp.func_replay(place)
def keep_place(model: Model, at: Trajectory, work: Work, s: int, k: int, b: int, i: int):
    pass


@wp.func_replay(touch)
def keep_touch(model: Model, world: World, work: Work, k: int, b: int, i: int):
    pass


@wp.func_replay(gather)
def keep_gather(
    model: Model, world: World, at: Trajectory, target: wp.array3d(dtype=vec), work: Work, s: int, k: int, b: int, i: int
):
    pass


@wp.func_replay(advance)
def keep_advance(model: Model, world: World, up: wp.array(dtype=vec), at: Trajectory, work: Work, s: int, k: int, b: int, i: int):
    pass


@wp.kernel
def run(
    model: Model, world: World, up: wp.array(dtype=vec), at: Trajectory, target: wp.array3d(dtype=vec), work: Work,
    start: int, count: int, link_count: int,
):  # fmt: skip
    b = wp.tid()
    for k in range(count):
        for i in range(link_count):
            place(model, at, work, start + k, k, b, i)
            touch(model, world, work, k, b, i)
        for i in range(link_count):
            gather(model, world, at, target, work, start + k, k, b, link_count - 1 - i)
        for i in range(link_count):
            advance(model, world, up, at, work, start + k, k, b, i)
