"""The command that puts a clip of one skeleton onto another character."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from akd.cli.console import AsJson, File, Height, console, print_json
from akd.files.writing import check_output, refuse_inputs, safe_name

if TYPE_CHECKING:
    from akd.retarget.measures import RetargetMeasures

LIMITS = {"skating": 0.05, "penetration": 0.01, "duty_difference": 0.05, "phase_difference": 0.05}
"""Above these a number is marked in the table."""


def retarget(
    clip: Annotated[str, tyro.conf.Positional],
    character: File,
    /,
    *,
    out: Path | None = None,
    travel: Literal["auto", "keep", "none"] = "auto",
    name: str | None = None,
    fps: float = 30.0,
    force: bool = False,
    as_json: AsJson = False,
    clip_forward: Annotated[
        str | None, tyro.conf.arg(help="Where the clip's skeleton faces in its file, if we guess wrong.")
    ] = None,
    forward: Annotated[str | None, tyro.conf.arg(help="Where the character faces in its file, if we guess wrong.")] = None,
    height: Height = None,
) -> None:
    """Put a clip of any skeleton onto another character of the same build.

    Limbs are matched by what they are (left foreleg, right arm, tail), not by their names, so joint counts, rest poses
    (T, A, bent), bone axes, proportions and sizes may differ. Bone directions, footfalls and the way over the ground are
    carried over in units of limb length; feet that stand in the clip stand on the character, hands that touch the body
    touch it at the same place. Limbs that one of the two lacks are left out, and said.

    Writes the character's own file with one more clip (.glb), or an .fbx, .usdz or .bvh, and prints how well the motion arrived.

    Examples:
        akd retarget walk.bvh knight.glb --out knight-walk.glb
        akd retarget wolf.glb#Gallop horse.glb --travel none
        akd retarget captures/dance.npz#3 robot.glb --out robot-dance.bvh
        akd retarget runs/fox-walking dog.glb

    Args:
        clip: FILE or FILE#CLIP (glTF, FBX, USD, BVH), CAPTURES.npz#NUMBER, or a run's folder with motion.npz and rig.glb.
        character: The rigged character that is to move.
        out: The .glb, .fbx, .usdz or .bvh to write; by default CHARACTER-CLIP.glb in the current folder.
        travel: auto gives a clip that walks in place the way its standing feet imply; keep leaves the path as it is in the
            file; none takes steady travel out, for games that move the character themselves.
        name: What the new clip is called in the file; by default as in its own file.
        fps: Frames per second at which the clip is sampled and written.
        force: Overwrite a file that exists.
    """
    from dataclasses import asdict

    from akd.assets import ANIMATION_SUFFIXES, check_fps, load_rig, motion_files, save_animation
    from akd.retarget.measures import measure_retarget
    from akd.retarget.retarget import retarget as carry_over
    from akd.retarget.source import load_clip

    check_fps(fps)
    source = load_clip(clip, fps=fps, forward=clip_forward)
    path = out or Path(f"{safe_name(f'{character.stem}-{source.name}')}.glb")
    check_output(path, force=force, source=character, endings=ANIMATION_SUFFIXES)
    refuse_inputs([path], motion_files(clip))
    rig = load_rig(character, forward=forward, height=height)
    result = carry_over(source.motion, source.rig, rig, travel=travel)
    numbers = measure_retarget(result, source.rig, rig)
    save_animation(rig, result.motion, path, name=name or source.name, fps=fps, force=force)
    notes = (*source.notes, *result.notes)
    if as_json:
        print_json({"out": str(path), "loops": result.loops, "scale": result.scale, "notes": notes, **asdict(numbers)})
        return
    screen = console()
    for note in notes:
        screen.print(f"· {note}")
    screen.print(_table(f"{source.rig.name}#{source.name} on {rig.name}", numbers))
    screen.print(f"Wrote {path}: {result.motion.duration:.2f} s" + (", a loop." if result.loops else "."))


def _table(title: str, numbers: "RetargetMeasures"):
    from dataclasses import asdict

    from rich.table import Table

    units = {"direction_error": "°", "end_point_error": " limb lengths", "penetration": " ℓ", "phase_difference": " strides"}
    table = Table("measure", "value", title=title)
    for key, value in asdict(numbers).items():
        above = value is not None and value > LIMITS.get(key, float("inf"))
        text = "–" if value is None else f"{value:.3g}{units.get(key, '')}" + (" (high)" if above else "")
        table.add_row(key.replace("_", " "), text)
    return table
