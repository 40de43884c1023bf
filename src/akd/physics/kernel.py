"""The simulation as one Warp kernel: a launch runs many steps of whole articulations, on CPU and CUDA from one source.

The equations and their names are those of ``reference``, its readable implementation. What differs is for Warp's adjoint:
- Everything a step computes goes into arrays indexed by step and link, and every element is written once. A parent collects
  its children by a running sum over siblings (``first_child``, ``next_sibling``) instead of accumulating in place; where
  there is none, these point at one more column of the arrays, which stays zero.
- What a loop sums up is not known to the adjoint of the lines after it, and a variable that is changed in place (``+=``)
  must not have been used before. So ``link_dynamics`` sums and stores, and does nothing else.
- The passes over the links are functions whose replay does nothing: the arrays still hold what the forward launch
  wrote, so a backward launch need not compute the step again before differentiating it.

All of it is in double precision: a contact is thousands of times stiffer than a foot is heavy, and the force that reaches the
shin is a small difference of large ones. Single precision saves a sixth of the time and diverges on spiders.
"""

# mypy: ignore-errors

import warp as wp

from akd.warp_start import start_warp

start_warp()
wp.set_module_options({"optimization_level": 3, "fast_math": True})
real = wp.float64
vec = wp.vec3d
quat = wp.vec4d
mat = wp.mat33d


@wp.struct
class Model:
    """A body, see ``Articulation``, but with inertias about the joints."""

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
    contact_radius: wp.array(dtype=real)
    anchored: int


@wp.struct
class World:
    """See ``settings.Constants``."""

    step: real
    stiffness: real
    damping: real
    contact_stiffness: real
    contact_damping: real
    friction: real
    stiction_speed: real
    assist_stiffness: real
    assist_damping: real
    gravity: real


@wp.struct
class States:
    """Coordinates and velocities before and after every step, see ``state.State``."""

    position: wp.array2d(dtype=vec)
    rotation: wp.array2d(dtype=quat)
    angles: wp.array3d(dtype=vec)
    velocity: wp.array2d(dtype=vec)
    spin: wp.array2d(dtype=vec)
    rates: wp.array3d(dtype=vec)


@wp.struct
class Work:
    """Intermediate results of a step's passes, step × sample × link.

    ``link_*`` are the terms of ``reference.Dynamics`` of a link alone, ``J H M n f`` those of the link and all below it,
    ``passed_*`` what reaches its parent, summed with its later siblings.
    """

    rotation: wp.array3d(dtype=mat)
    axes: wp.array3d(dtype=mat)
    position: wp.array3d(dtype=vec)
    lever: wp.array3d(dtype=vec)
    velocity: wp.array3d(dtype=vec)
    spin: wp.array3d(dtype=vec)
    bias: wp.array3d(dtype=vec)
    J: wp.array3d(dtype=mat)
    H: wp.array3d(dtype=mat)
    M: wp.array3d(dtype=mat)
    n: wp.array3d(dtype=vec)
    f: wp.array3d(dtype=vec)
    link_J: wp.array3d(dtype=mat)
    link_H: wp.array3d(dtype=mat)
    link_M: wp.array3d(dtype=mat)
    link_n: wp.array3d(dtype=vec)
    link_f: wp.array3d(dtype=vec)
    inverse: wp.array3d(dtype=mat)
    torque: wp.array3d(dtype=vec)
    passed_J: wp.array3d(dtype=mat)
    passed_H: wp.array3d(dtype=mat)
    passed_M: wp.array3d(dtype=mat)
    passed_n: wp.array3d(dtype=vec)
    passed_f: wp.array3d(dtype=vec)
    angular_accel: wp.array3d(dtype=vec)
    linear_accel: wp.array3d(dtype=vec)


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
def link_kinematics(model: Model, states: States, work: Work, s: int, k: int, b: int, i: int):
    """One link of ``reference.kinematics``. s counts all steps, k those of this launch."""
    if i == 0:
        work.rotation[k, b, i] = matrix_of(states.rotation[s, b] / wp.length(states.rotation[s, b]))
        work.position[k, b, i] = states.position[s, b]
        work.velocity[k, b, i] = states.velocity[s, b]
        work.spin[k, b, i] = states.spin[s, b]
    else:
        parent = model.parents[i]
        oriented = work.rotation[k, b, parent] * model.frames[i]
        spin = work.spin[k, b, parent]
        angles = states.angles[s, b, i]
        rates = states.rates[s, b, i]
        sa, sb, sc = wp.sin(angles[0]), wp.sin(angles[1]), wp.sin(angles[2])
        ca, cb, cc = wp.cos(angles[0]), wp.cos(angles[1]), wp.cos(angles[2])
        one, zero = real(1.0), real(0.0)
        axes = oriented * mat(one, zero, sb, zero, ca, -sa * cb, zero, sa, ca * cb)
        joint_rotation = mat(
            cb * cc, -cb * sc, sb,
            ca * sc + sa * sb * cc, ca * cc - sa * sb * sc, -sa * cb,
            sa * sc - ca * sb * cc, sa * cc + ca * sb * sc, ca * cb,
        )  # fmt: skip
        lever = work.rotation[k, b, parent] * model.offsets[i]
        first = axes * vec(rates[0], zero, zero)
        second = axes * vec(zero, rates[1], zero)
        third = axes * vec(zero, zero, rates[2])
        relative = first + second + third
        work.rotation[k, b, i] = oriented * joint_rotation * wp.transpose(model.frames[i])
        work.axes[k, b, i] = axes
        work.lever[k, b, i] = lever
        work.position[k, b, i] = work.position[k, b, parent] + lever
        work.velocity[k, b, i] = work.velocity[k, b, parent] + wp.cross(spin, lever)
        work.spin[k, b, i] = spin + relative
        work.bias[k, b, i] = wp.cross(spin, relative) + wp.cross(first, second) + wp.cross(first + second, third)


@wp.func
def link_dynamics(model: Model, world: World, work: Work, k: int, b: int, i: int):
    """``reference._link_dynamics`` and ``_contact_dynamics``."""
    rotation = work.rotation[k, b, i]
    position = work.position[k, b, i]
    velocity = work.velocity[k, b, i]
    spin = work.spin[k, b, i]
    radius = model.contact_radius[i]
    zero = real(0.0)
    J, H, M = mat(), mat(), mat()
    n, f = vec(), vec()
    mass = model.mass[i]
    com = rotation * model.com[i]
    inertia = rotation * model.inertia[i] * wp.transpose(rotation)
    weight = mass * (wp.cross(spin, wp.cross(spin, com)) + vec(zero, world.gravity, zero))
    moment = wp.cross(spin, inertia * spin) + wp.cross(com, vec(zero, mass * world.gravity, zero))
    if position[1] < radius + world.step * (wp.length(velocity) + wp.length(spin) * radius):
        for p in range(model.point_start[i], model.point_start[i + 1]):
            lever = rotation * model.points[p]
            point_speed = velocity + wp.cross(spin, lever)
            depth = -position[1] - lever[1] - world.step * point_speed[1]
            damping_factor = real(1.0) - world.contact_damping * point_speed[1]
            if depth > zero and damping_factor > zero:
                normal = world.contact_stiffness * depth * damping_factor
                resistance = world.step * world.contact_stiffness * (world.step * damping_factor + world.contact_damping * depth)
                slip_squared = point_speed[0] * point_speed[0] + point_speed[2] * point_speed[2]
                drag = world.friction * normal / wp.sqrt(slip_squared + world.stiction_speed * world.stiction_speed)
                tangential = world.step * drag
                G = mat(tangential, zero, zero, zero, resistance, zero, zero, zero, tangential)
                force = vec(-drag * point_speed[0], normal, -drag * point_speed[2]) - G * wp.cross(spin, wp.cross(spin, lever))
                r = wp.skew(lever)
                rG = r * G
                J -= rG * r
                H += rG
                M += G
                n -= wp.cross(lever, force)
                f -= force
    work.link_J[k, b, i] = inertia + J
    work.link_H[k, b, i] = wp.skew(mass * com) + H
    work.link_M[k, b, i] = mat(mass, zero, zero, zero, mass, zero, zero, zero, mass) + M
    work.link_n[k, b, i] = moment + n
    work.link_f[k, b, i] = weight + f


@wp.func
def pass_to_parent(
    model: Model, world: World, states: States, target: wp.array3d(dtype=vec), work: Work, s: int, k: int, b: int, i: int
):
    """``reference._controller``, ``_solve_joint`` and ``_through_joint``."""
    child = model.first_child[i]
    J = work.link_J[k, b, i] + work.passed_J[k, b, child]
    H = work.link_H[k, b, i] + work.passed_H[k, b, child]
    M = work.link_M[k, b, i] + work.passed_M[k, b, child]
    n = work.link_n[k, b, i] + work.passed_n[k, b, child]
    f = work.link_f[k, b, i] + work.passed_f[k, b, child]
    zero = real(0.0)
    work.J[k, b, i] = J
    work.H[k, b, i] = H
    work.n[k, b, i] = n

    if i == 0:
        work.M[k, b, i] = M
        work.f[k, b, i] = f
    else:
        axes = work.axes[k, b, i]
        bias = work.bias[k, b, i]
        lever = work.lever[k, b, i]
        rates = states.rates[s, b, i]
        stiff = world.step * world.stiffness
        implicit_damping = stiff + world.damping
        torque = world.stiffness * (target[s, b, i] - states.angles[s, b, i]) - implicit_damping * rates
        torque = torque - wp.transpose(axes) * n
        d = world.step * implicit_damping
        JA = J * axes
        inverse = wp.inverse(wp.transpose(axes) * JA + mat(d, zero, zero, zero, d, zero, zero, zero, d))
        work.torque[k, b, i] = torque
        work.inverse[k, b, i] = inverse

        HtA = wp.transpose(H) * axes
        JAD = JA * inverse
        J2 = J - JAD * wp.transpose(JA)
        H2 = H - JAD * wp.transpose(HtA)
        M2 = M - HtA * inverse * wp.transpose(HtA)
        parent_spin = work.spin[k, b, model.parents[i]]
        centripetal = wp.cross(parent_spin, wp.cross(parent_spin, lever))
        free_accel = inverse * torque
        n2 = n + J2 * bias + H2 * centripetal + JA * free_accel
        f2 = f + wp.transpose(H2) * bias + M2 * centripetal + HtA * free_accel
        r = wp.skew(lever)
        Hr = H2 * r
        rM = r * M2
        sibling = model.next_sibling[i]
        work.passed_J[k, b, i] = J2 - Hr - wp.transpose(Hr) - rM * r + work.passed_J[k, b, sibling]
        work.passed_H[k, b, i] = H2 + rM + work.passed_H[k, b, sibling]
        work.passed_M[k, b, i] = M2 + work.passed_M[k, b, sibling]
        work.passed_n[k, b, i] = n2 + wp.cross(lever, f2) + work.passed_n[k, b, sibling]
        work.passed_f[k, b, i] = f2 + work.passed_f[k, b, sibling]


@wp.func
def integrate(
    model: Model, world: World, up: wp.array(dtype=vec), states: States, work: Work, s: int, k: int, b: int, i: int
):
    """``reference._root_acceleration`` and ``_integrate``."""
    zero = real(0.0)
    if i == 0:
        alpha = vec(zero, zero, zero)
        accel = vec(zero, zero, zero)
        if model.anchored == 0:
            drag = world.assist_damping + world.step * world.assist_stiffness
            d = world.step * drag
            spin = work.spin[k, b, 0]
            H = work.H[k, b, 0]
            inverse_mass = wp.inverse(work.M[k, b, 0])
            HM = H * inverse_mass
            upward = work.rotation[k, b, 0] * up[b]
            torque = world.assist_stiffness * wp.cross(upward, vec(zero, real(1.0), zero)) - drag * vec(spin[0], zero, spin[2])
            inertia = work.J[k, b, 0] - HM * wp.transpose(H) + mat(d, zero, zero, zero, zero, zero, zero, zero, d)
            alpha = wp.inverse(inertia) * (torque - work.n[k, b, 0] + HM * work.f[k, b, 0])
            accel = -inverse_mass * (work.f[k, b, 0] + wp.transpose(H) * alpha)
        work.angular_accel[k, b, 0] = alpha
        work.linear_accel[k, b, 0] = accel
        velocity = states.velocity[s, b] + world.step * accel
        next_spin = states.spin[s, b] + world.step * alpha
        h = real(0.5) * world.step * next_spin
        q = states.rotation[s, b]
        oriented = quat(
            q[0] - h[0] * q[1] - h[1] * q[2] - h[2] * q[3],
            q[1] + h[0] * q[0] + h[1] * q[3] - h[2] * q[2],
            q[2] - h[0] * q[3] + h[1] * q[0] + h[2] * q[1],
            q[3] + h[0] * q[2] - h[1] * q[1] + h[2] * q[0],
        )
        states.velocity[s + 1, b] = velocity
        states.spin[s + 1, b] = next_spin
        states.position[s + 1, b] = states.position[s, b] + world.step * velocity
        states.rotation[s + 1, b] = oriented / wp.length(oriented)
        states.angles[s + 1, b, 0] = states.angles[s, b, 0] + world.step * states.rates[s, b, 0]
        states.rates[s + 1, b, 0] = states.rates[s, b, 0]
    else:
        parent = model.parents[i]
        lever = work.lever[k, b, i]
        axes = work.axes[k, b, i]
        parent_spin = work.spin[k, b, parent]
        parent_alpha = work.angular_accel[k, b, parent]
        centripetal = wp.cross(parent_spin, wp.cross(parent_spin, lever))
        accel = work.linear_accel[k, b, parent] + wp.cross(parent_alpha, lever) + centripetal
        alpha = parent_alpha + work.bias[k, b, i]
        inertial_torque = wp.transpose(axes) * (work.J[k, b, i] * alpha + work.H[k, b, i] * accel)
        acceleration = work.inverse[k, b, i] * (work.torque[k, b, i] - inertial_torque)
        rates = states.rates[s, b, i] + world.step * acceleration
        work.angular_accel[k, b, i] = alpha + axes * acceleration
        work.linear_accel[k, b, i] = accel
        states.rates[s + 1, b, i] = rates
        states.angles[s + 1, b, i] = states.angles[s, b, i] + world.step * rates


# A backward launch would first replay each pass; the arrays still hold its results, so the replays do nothing.
@wp.func_replay(link_kinematics)
def skip_kinematics_replay(model: Model, states: States, work: Work, s: int, k: int, b: int, i: int):
    pass


@wp.func_replay(link_dynamics)
def skip_dynamics_replay(model: Model, world: World, work: Work, k: int, b: int, i: int):
    pass


@wp.func_replay(pass_to_parent)
def skip_pass_replay(
    model: Model, world: World, states: States, target: wp.array3d(dtype=vec), work: Work, s: int, k: int, b: int, i: int
):
    pass


@wp.func_replay(integrate)
def skip_integrate_replay(
    model: Model, world: World, up: wp.array(dtype=vec), states: States, work: Work, s: int, k: int, b: int, i: int
):
    pass


@wp.kernel
def run(
    model: Model, world: World, up: wp.array(dtype=vec), states: States, target: wp.array3d(dtype=vec), work: Work,
    start: int, count: int, link_count: int,
):  # fmt: skip
    b = wp.tid()
    for k in range(count):
        for i in range(link_count):
            link_kinematics(model, states, work, start + k, k, b, i)
            link_dynamics(model, world, work, k, b, i)
        for i in range(link_count):
            pass_to_parent(model, world, states, target, work, start + k, k, b, link_count - 1 - i)
        for i in range(link_count):
            integrate(model, world, up, states, work, start + k, k, b, i)
