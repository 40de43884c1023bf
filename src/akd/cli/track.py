"""Commands on physics."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from akd.cli.console import AsJson, Facing, Height, console, print_json, watched
from akd.errors import AkdError
from akd.files.lock import locked_folder
from akd.files.writing import check_output_folder, refuse_inputs, safe_name

if TYPE_CHECKING:
    import numpy as np

    from akd.physics.track import TrackResult
    from akd.physics.track_settings import TrackSettings
    from akd.rig import Rig

MAX_SUBSTEPS = 1000
"""Steps of the simulation in a frame; more would take days."""


def track(
    clip: Annotated[str, tyro.conf.Positional],
    /,
    *,
    out: Path | None = None,
    recipe: Literal["default", "paper"] = "default",
    upright: Literal["auto", "on", "off"] = "auto",
    substeps: int | None = None,
    fps: float = 30.0,
    film: bool = True,
    limits: bool = False,
    force: bool = False,
    as_json: AsJson = False,
    forward: Facing = None,
    height: Height = None,
) -> None:
    """Put a motion on the ground by physics: simulate the character so that it follows the clip on its own feet.

    The clip is prepared first (put on the ground, given the travel its feet imply, standing feet held in place), then
    controls are found with which a body of rigid bones under gravity does the same. Writes a folder: animated.glb (your
    file plus the simulated clip), side-by-side.mp4 and sheet.png (target and simulation), metrics.json, motion.npz,
    controls.npz (controls and torques), body.xml (the body for MuJoCo, the target as keyframes).

    Examples:
        akd track fox.glb#Walk
        akd track runs/fox-walking --out runs/fox-grounded
        akd track motion.npz --recipe paper

    Args:
        clip: One clip of a rigged file, FILE#CLIP; a run's folder; or a motion.npz beside its rig.glb.
        out: The folder to write to; by default named after the clip, under runs/.
        recipe: default holds feet and looks ahead; paper optimises the whole clip with controls at every substep.
        upright: An assist torque that keeps the body upright: never, always, or (auto) only if it falls without.
        substeps: Steps of the simulation per frame; more are slower and stiffer.
        fps: Frames per second at which a file's clip is sampled.
        film: Also make the pictures; --no-film is quicker.
        limits: Give the joints in body.xml the limits that the pose space knows, no narrower than the clip.
        force: Write into a folder that exists.
    """
    from akd.assets import load_motion
    from akd.physics.track import track as simulate
    from akd.pipeline.track import comparison, numbers, write_result

    settings = _settings(recipe, upright, substeps)
    if out is not None:
        _check_folder(out, clip, force)
    rig, motion, name, from_file = load_motion(clip, fps=fps, forward=forward, height=height)
    folder = out or Path("runs") / f"{safe_name(name)}-tracked"
    _check_folder(folder, clip, force)
    with locked_folder(folder):
        result = simulate(rig, motion, settings, from_file=from_file, progress=_tracking(as_json))
        known = _joint_limits(rig, result) if limits else None
        paths = write_result(rig, result, folder, name="tracked", film=film, force=True, limits=known, progress=_filming(as_json))
    if as_json:
        print_json(numbers(result))
        return
    screen = console()
    for note in result.notes:
        screen.print(f"· {note}")
    screen.print(_table(name, comparison(result), result))
    for path in paths:
        screen.print(f"Wrote {path}")


def _joint_limits(rig: "Rig", result: "TrackResult") -> "np.ndarray":
    """Limits of all joints that hold the target and the simulated motion."""
    from akd.posespace.space import PoseSpace

    return PoseSpace.build(rig).angle_limits(result.target.motion, result.motion)


def _check_folder(folder: Path, clip: str, force: bool) -> None:
    """Nothing is overwritten unless that is asked for, and the motion itself never."""
    from akd.assets import motion_files
    from akd.pipeline.run_folder import TRACKED

    check_output_folder(folder, force=force)
    refuse_inputs([folder / output for output in TRACKED], motion_files(clip))


def _settings(recipe: str, upright: str, substeps: int | None) -> "TrackSettings":
    from dataclasses import replace

    from akd.physics.track import ASSIST_STIFFNESS
    from akd.physics.track_settings import RECIPES

    if substeps is not None and not 1 <= substeps <= MAX_SUBSTEPS:
        raise AkdError(f"A frame takes between 1 and {MAX_SUBSTEPS} steps of the simulation, not {substeps}: choose --substeps.")
    settings = RECIPES[recipe]
    physics = settings.physics if substeps is None else replace(settings.physics, substeps=substeps)
    if upright != "auto":
        physics = replace(physics, assist_stiffness=ASSIST_STIFFNESS if upright == "on" else 0.0)
    return replace(settings, physics=physics, assist=settings.assist and upright == "auto")


def _table(name: str, rows: list[tuple[str, str, str, str]], result: "TrackResult"):
    from rich.table import Table

    error = f"{result.tracking_error:.3f} ℓ and {math.degrees(result.turn_error):.0f}° from the target"
    table = Table("metric", "given", "target", "simulated", title=f"{name}: {error}, {result.seconds:.0f} s")
    for row in rows:
        table.add_row(*row)
    table.add_row("upright impulse", "", "", f"{result.upright_impulse:.3g}")
    table.add_row("mechanical work [m g ℓ]", "", "", f"{result.work:.3g}")
    return table


def _tracking(quiet: bool):
    return lambda steps, count: watched(steps, count, "tracking", quiet=quiet)


def _filming(quiet: bool):
    return lambda frames, count: watched(frames, count, "filming", quiet=quiet)
