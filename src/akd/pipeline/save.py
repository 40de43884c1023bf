"""A motion as a file, by its suffix."""

from pathlib import Path

from akd.assets import check_output, save_animation
from akd.errors import AkdError
from akd.files.motion_npz import write_motion
from akd.files.video import write_video
from akd.files.writing import write_file
from akd.motion import Motion
from akd.render.preview import preview_frames
from akd.rig import Rig


def save(
    rig: Rig, motion: Motion, path: str | Path, *, name: str = "akd", fps: float = 30.0, travel: bool = True, force: bool = False
) -> Path:
    """Write a motion of a character. The suffix says how:

    .glb (the user's own file plus one clip called ``name``, or a new file), .bvh, .npz (read by ``akd track``, ``akd pose``),
    .mp4 or .gif (a preview), .xml (the character as a MuJoCo model with the motion as keyframes). ``travel=False`` writes .glb
    and .bvh without the movement over the ground. A file that exists is only replaced with ``force``.
    """
    path = Path(path)
    writer = {".npz": _npz, ".mp4": _video, ".gif": _video, ".xml": _mjcf}.get(path.suffix.lower())
    if writer is None and path.suffix.lower() not in (".glb", ".bvh"):
        raise AkdError(f"A motion is written as .glb, .bvh, .npz, .mp4, .gif or .xml, not {path.suffix or 'without an ending'}.")
    check_output(path, force=force, source=rig.origin.file.path if rig.origin is not None else None)
    if writer is None:
        save_animation(rig, motion, path, name=name, fps=fps, travel=travel, force=force)
    else:
        writer(rig, motion, path)
    return path


def _npz(rig: Rig, motion: Motion, path: Path) -> None:
    write_motion(path, rig.skeleton, motion)


def _video(rig: Rig, motion: Motion, path: Path) -> None:
    write_video(path, preview_frames(rig, motion), motion.fps)


def _mjcf(rig: Rig, motion: Motion, path: Path) -> None:
    from akd.character.articulation import articulation_of
    from akd.physics.mjcf import to_mjcf  # Warp takes a while to import
    from akd.physics.settings import PhysicsSettings

    write_file(path, to_mjcf(rig, articulation_of(rig), PhysicsSettings(), motion.fps, motion))
