"""What a step of the simulation costs, beside Newton's solvers and MuJoCo on the same body: ``python -m bench.physics``.

Times are processor time per step in microseconds, the best of several rollouts, all taken in one run: on a busy machine
only the ratios mean something.
"""

import time
from collections.abc import Callable, Iterator
from itertools import pairwise

import torch
from rich.console import Console
from rich.table import Table

from akd.creatures.build import creature
from akd.physics.body import Body, body_from_rig
from akd.physics.mjcf import to_mjcf
from akd.physics.settings import PhysicsSettings
from akd.physics.simulate import simulate
from akd.physics.state import State, state_at_rest
from akd.rig import Rig

FPS = 30.0


def best(run: Callable[[], None], repeats: int = 5) -> float:
    """Least processor time of several runs [s], after one that warms up."""
    run()
    times = []
    for _ in range(repeats):
        before = time.process_time()
        run()
        times.append(time.process_time() - before)
    return min(times)


def standing(rig: Rig, body: Body, samples: int) -> State:
    return state_at_rest(body, rig.skeleton.rest_pose(samples))


def ours(rig: Rig, *, frames: int = 12, substeps: int = 20, samples: int = 1) -> tuple[float, float]:
    """Forward, and forward with backward [µs per step and sample]."""
    body = body_from_rig(rig)
    start, settings = standing(rig, body, samples), PhysicsSettings(substeps=substeps)
    controls = torch.zeros(frames + 1, samples, body.link_count, 3, requires_grad=True)

    def forward() -> None:
        simulate(body, start, controls, settings, FPS)

    def both() -> None:
        simulate(body, start, controls, settings, FPS).frames.position.square().sum().backward()

    scale = 1e6 / (frames * substeps * samples)
    return best(forward) * scale, best(both) * scale


def mujoco_step(rig: Rig, substeps: int = 20, steps: int = 240) -> float:
    """``mj_step``, forward only [µs]."""
    import mujoco

    text = to_mjcf(rig, body_from_rig(rig), PhysicsSettings(substeps=substeps), FPS)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)

    def run() -> None:
        mujoco.mj_resetData(model, data)
        for _ in range(steps):
            mujoco.mj_step(model, data)

    return best(run) * 1e6 / steps


def newton_step(rig: Rig, solver_name: str, substeps: int = 20, steps: int = 10) -> tuple[float, float]:
    """One of Newton's solvers with its collision detection: forward, and forward with backward on a tape [µs]."""
    import newton
    import warp as wp

    builder = newton.ModelBuilder()
    builder.add_mjcf(to_mjcf(rig, body_from_rig(rig), PhysicsSettings(substeps=substeps), FPS), enable_self_collisions=False)
    model = builder.finalize(requires_grad=True)
    solver = getattr(newton.solvers, solver_name)(model)
    control = model.control()
    contacts = model.contacts()

    def forward() -> list:
        states = [model.state() for _ in range(steps + 1)]
        newton.eval_fk(model, model.joint_q, model.joint_qd, states[0])
        for before, after in pairwise(states):
            model.collide(before, contacts)
            solver.step(before, after, control, contacts, 1 / (FPS * substeps))
        return states

    def both() -> None:
        with wp.Tape() as tape:
            states = forward()
        tape.backward(grads={states[-1].body_q: wp.ones_like(states[-1].body_q)})
        tape.zero()

    return best(lambda: forward() and None, 2) * 1e6 / steps, best(both, 2) * 1e6 / steps


def comparison() -> Table:
    rig = creature("dog", seed=7)
    table = Table(title=f"One step of a dog ({body_from_rig(rig).link_count} links), 20 per frame")
    for column in ("simulator", "forward µs", "forward + backward µs", "times ours"):
        table.add_column(column, justify="right", no_wrap=True)
    forward, both = ours(rig)
    table.add_row("akd", f"{forward:.1f}", f"{both:.1f}", "1")
    step = mujoco_step(rig)
    table.add_row("MuJoCo mj_step", f"{step:.1f}", "–", f"{step / forward:.1f} (forward)")
    for name in ("SolverSemiImplicit", "SolverFeatherstone"):
        there, there_and_back = newton_step(rig, name)
        table.add_row(f"Newton {name}", f"{there:.0f}", f"{there_and_back:.0f}", f"{there_and_back / both:.0f}")
    return table


def scaling() -> Table:
    table = Table(title="Cost of a step [µs per step and sample]")
    for column in ("body", "links", "substeps", "samples", "forward", "forward + backward"):
        table.add_column(column, justify="right")
    cases = [(plan, 20, 1) for plan in ("chick", "human", "dog", "sauropod", "spider")]
    cases += [("dog", 10, 1), ("dog", 40, 1), ("dog", 20, 4), ("dog", 20, 16)]
    for plan, substeps, samples in cases:
        rig = creature(plan, seed=7)
        forward, both = ours(rig, substeps=substeps, samples=samples)
        links = body_from_rig(rig).link_count
        table.add_row(plan, f"{links}", f"{substeps}", f"{samples}", f"{forward:.1f}", f"{both:.1f}")
    return table


def tables() -> Iterator[Table]:
    yield comparison()
    yield scaling()


if __name__ == "__main__":
    for each in tables():
        Console(width=100).print(each)
