"""What a tracked motion leaves on disk: animation, film and sheet beside the target, numbers, controls, MJCF."""

import json
from collections.abc import Callable, Iterable, Iterator
from io import BytesIO
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from akd.assets import save_animation
from akd.files.motion_npz import write_motion
from akd.files.video import contact_sheet, write_picture, write_video
from akd.files.writing import write_errors, write_file
from akd.measure.evaluation import as_text
from akd.motion import thinned
from akd.physics.mjcf import to_mjcf
from akd.physics.track import TrackResult
from akd.pipeline.run_folder import TRACKED
from akd.render.preview import PreviewSettings, preview_frames
from akd.rig import Rig

COMPARED = {
    "penetration_max": "deepest penetration [ℓ]", "penetration_mean": "mean penetration [ℓ]", "float_height": "float [ℓ]",
    "skating_ratio": "skating ratio", "slide": "slide [ℓ/frame]", "contact_share": "share of feet in contact",
    "jerk": "jerk [ℓ/s³]", "motion_amount": "amount of motion [ℓ/s]", "travel": "travel [ℓ/s]", "gait": "gait",
}  # fmt: skip
SHEET_FRAMES = 8
FILMED = PreviewSettings(width=480, height=400)
ShowProgress = Callable[[Iterable[Tensor], int], Iterable[Tensor]]


def comparison(result: TrackResult) -> list[tuple[str, str, str, str]]:
    """Metric, and its value in the given motion, in the mended target and in the simulated motion."""
    given, target, simulated = result.source_metrics, result.target_metrics, result.metrics
    return [
        (title, as_text(getattr(given, name)), as_text(getattr(target, name)), as_text(getattr(simulated, name)))
        for name, title in COMPARED.items()
    ]


def numbers(result: TrackResult) -> dict[str, object]:
    """Everything measured, ready for JSON."""
    return {
        "tracking_error": result.tracking_error, "turn_error": result.turn_error, "coordinate_error": result.coordinate_error,
        "upright_impulse": result.upright_impulse, "work": result.work, "seconds": result.seconds,
        "iterations": len(result.losses), "loss": float(result.losses.min()), "notes": list(result.notes),
        "given": result.source_metrics.as_dict(), "target": result.target_metrics.as_dict(),
        "simulated": result.metrics.as_dict(),
    }  # fmt: skip


def side_by_side(rig: Rig, result: TrackResult, settings: PreviewSettings = FILMED) -> Iterator[Float[Tensor, "height width 3"]]:
    """The target on the left, the simulated motion on the right."""
    films = (preview_frames(rig, motion, settings) for motion in (result.target.motion, result.motion))
    for pair in zip(*films, strict=True):
        yield torch.cat(pair, 1)


def sheet(rig: Rig, result: TrackResult) -> Float[Tensor, "height width 3"]:
    """Two rows of a few moments: the target above, the simulated motion below."""
    motions = (thinned(motion, SHEET_FRAMES) for motion in (result.target.motion, result.motion))
    rows = [torch.stack(list(preview_frames(rig, motion, FILMED))) for motion in motions]
    return contact_sheet(torch.cat(rows), columns=len(rows[0]))


def write_result(
    rig: Rig, result: TrackResult, folder: Path, *, name: str, film: bool = True, force: bool = False,
    limits: Float[np.ndarray, "joint 3 2"] | None = None, progress: ShowProgress = lambda frames, count: frames,
) -> list[Path]:  # fmt: skip
    """Write everything into a folder; returns the files. Without a film, an older one of another motion goes.

    ``limits`` are those of the joints in body.xml [rad].
    """
    paths = {key: folder / key for key in ("animated.glb", "motion.npz", "controls.npz", "metrics.json", "body.xml")}
    save_animation(rig, result.motion, paths["animated.glb"], name=name, fps=result.motion.fps, force=force)
    write_motion(paths["motion.npz"], rig.skeleton, result.motion)
    write_controls(paths["controls.npz"], result)
    write_file(paths["metrics.json"], json.dumps(numbers(result), indent=2) + "\n")
    text = to_mjcf(rig, result.body, result.physics, result.controls_fps, result.target.motion, limits)
    write_file(paths["body.xml"], text)
    if film:
        paths |= {"sheet.png": folder / "sheet.png", "side-by-side.mp4": folder / "side-by-side.mp4"}
        write_picture(paths["sheet.png"], sheet(rig, result))
        frames = progress(side_by_side(rig, result), result.motion.frame_count)
        write_video(paths["side-by-side.mp4"], frames, result.motion.fps)
    with write_errors(folder):
        for name in set(TRACKED) - set(paths):
            (folder / name).unlink(missing_ok=True)
    return list(paths.values())


def write_controls(path: Path, result: TrackResult) -> None:
    """Controls, torques and the start of the simulation, with the names of the links and the constants they need."""
    start = {f"start_{key}": value.numpy() for key, value in vars(result.start).items()}
    content = BytesIO()
    np.savez_compressed(
        content, links=np.array(result.body.names), fps=result.controls_fps, substeps=result.physics.substeps,
        stiffness=result.physics.stiffness, damping=result.physics.damping, controls=result.controls,
        torques=result.torques, upright=result.assist_torques, losses=result.losses, **start,
    )  # fmt: skip
    write_file(path, content.getvalue())
