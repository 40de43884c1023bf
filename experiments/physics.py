"""Cost of a step of the simulation beside Newton's solvers and MuJoCo on the same body: the speed tables of docs/physics.md.

    python -m experiments.physics

Times are processor time per step in microseconds, all taken in one run and alternating: on a busy machine only the ratios mean
something, and they vary too.
"""

import time
from collections.abc import Callable, Iterator
from itertools import pairwise

import torch
from rich.console import Console
from rich.table import Table

from akd.character.articulation import Articulation, articulation_of
from akd.creatures.build import creature
from akd.physics.mjcf import to_mjcf
from akd.physics.settings import PhysicsSettings, State, state_at_rest
from akd.physics.simulate import simulate
from akd.rig import Rig

FPS = 30.0


def best(runs: dict[str, Callable[[], object]], repetitions: int = 6) -> dict[str, list[float]]:
    """Processor times of several runs [s], least first, after one each that warms up.

    They take turns and have equally many, so that neither a busy minute nor the number of tries favours one of them.
    """
    for run in runs.values():
        run()
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repetitions):
        for name, run in runs.items():
            before = time.process_time()
            run()
            times[name].append(time.process_time() - before)
    return {name: sorted(each) for name, each in times.items()}


def standing(rig: Rig, body: Articulation, samples: int) -> State:
    return state_at_rest(body, rig.skeleton.rest_pose(samples))


def ours(rig: Rig, *, frames: int = 12, substeps: int = 20, samples: int = 1) -> tuple[Callable, Callable, int]:
    """Our simulation forward, and forward with backward; and how many steps that is."""
    body = articulation_of(rig)
    start, settings = standing(rig, body, samples), PhysicsSettings(substeps=substeps)
    controls = torch.zeros(frames + 1, samples, body.link_count, 3, requires_grad=True)

    def forward() -> None:
        simulate(body, start, controls, settings, FPS)

    def both() -> None:
        simulate(body, start, controls, settings, FPS).frames.position.square().sum().backward()

    return forward, both, frames * substeps * samples


def mujoco_run(rig: Rig, substeps: int = 20, steps: int = 240) -> tuple[Callable, int]:
    """``mj_step``, forward only."""
    import mujoco

    text = to_mjcf(rig, articulation_of(rig), PhysicsSettings(substeps=substeps), FPS)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)

    def run() -> None:
        mujoco.mj_resetData(model, data)
        for _ in range(steps):
            mujoco.mj_step(model, data)

    return run, steps


def newton_run(rig: Rig, solver_name: str, substeps: int = 20, steps: int = 10) -> tuple[Callable, Callable, int]:
    """One of Newton's solvers with its collision detection: forward, and forward with backward on a tape."""
    import newton
    import warp as wp

    builder = newton.ModelBuilder()
    builder.add_mjcf(to_mjcf(rig, articulation_of(rig), PhysicsSettings(substeps=substeps), FPS), enable_self_collisions=False)
    model = builder.finalize(requires_grad=True)
    solver = getattr(newton.solvers, solver_name)(model)
    control, contacts = model.control(), model.contacts()

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

    return forward, both, steps


def comparison() -> Table:
    rig = creature("dog", seed=7)
    forward, both, steps = ours(rig)
    runs, per = {"akd": forward, "akd, back": both}, {"akd": steps}
    runs["MuJoCo mj_step"], per["MuJoCo mj_step"] = mujoco_run(rig)
    for solver in ("SolverSemiImplicit", "SolverFeatherstone"):
        name = f"Newton {solver}"
        runs[name], runs[f"{name}, back"], per[name] = newton_run(rig, solver)
    times = best(runs)
    table = Table(title=f"One step of a dog ({articulation_of(rig).link_count} links), 20 per frame: least and median µs")
    for column in ("simulator", "forward", "forward + backward", "times ours"):
        table.add_column(column, justify="right", no_wrap=True)
    for name, count in per.items():
        there, back = times[name], times.get(f"{name}, back")
        mine = times["akd, back" if back else "akd"]
        ratios = [(back or there)[k] / count / (mine[k] / steps) for k in (0, len(mine) // 2)]
        cells = [f"{x[0] / count * 1e6:.1f}, {x[len(x) // 2] / count * 1e6:.1f}" if x else "–" for x in (there, back)]
        table.add_row(name, *cells, f"{ratios[0]:.1f}, {ratios[1]:.1f}" + ("" if back else " (forward)"))
    return table


def scaling() -> Table:
    table = Table(title="Cost of a step [µs per step and sample]")
    for column in ("body", "links", "substeps", "samples", "forward", "forward + backward"):
        table.add_column(column, justify="right")
    cases = [(plan, 20, 1) for plan in ("chick", "human", "dog", "sauropod", "spider")]
    cases += [("dog", 10, 1), ("dog", 40, 1), ("dog", 20, 4), ("dog", 20, 16)]
    for plan, substeps, samples in cases:
        rig = creature(plan, seed=7)
        forward, both, steps = ours(rig, substeps=substeps, samples=samples)
        times = best({"forward": forward, "both": both})
        cells = [f"{each[0] / steps * 1e6:.1f}" for each in times.values()]
        table.add_row(plan, f"{articulation_of(rig).link_count}", f"{substeps}", f"{samples}", *cells)
    return table


def tables() -> Iterator[Table]:
    yield comparison()
    yield scaling()


if __name__ == "__main__":
    for each in tables():
        Console(width=100).print(each)
