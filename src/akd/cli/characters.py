"""Commands on characters: look at them, measure them, make them, rig them, write them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from akd.cli.console import PLAIN, AsJson, Facing, File, Height, console, print_json, watched
from akd.errors import AkdError
from akd.files.writing import check_output, refuse_inputs, safe_name

if TYPE_CHECKING:
    from akd.character.clips import ReadClip
    from akd.measure.judge import Judgement
    from akd.rig import Rig


def inspect(
    file: File, /, *, as_json: AsJson = False, write_labels: bool = False, force: bool = False, forward: Facing = None,
    height: Height = None,
) -> None:  # fmt: skip
    """Show what is in a character file: bones, limbs, clips, size, facing, and what is wrong with it.

    Example: akd inspect fox.glb

    Args:
        write_labels: Also write limbs, facing and height as found to FILE.akd.json (fox.akd.json beside fox.glb). Correct them
            there: every command reads that file.
        force: Overwrite labels that exist, corrections included.
    """
    from akd import inspection
    from akd.files.labels_json import label_path

    written = inspection.write_found_labels(file, forward=forward, height=height, force=force) if write_labels else None
    facts = inspection.inspect_file(file, forward=forward, height=height)
    if as_json:
        print_json(facts.as_dict())
        return
    screen = console()
    screen.print(*inspection.drawn(facts), sep="\n")
    if written is not None:
        screen.print(f"Wrote {written}: correct it there, and every command reads it.", **PLAIN)
    elif label_path(file).is_file():
        screen.print(f"· Limbs, facing and height are as {label_path(file).name} says.", **PLAIN)


def evaluate(
    clip: Annotated[str, tyro.conf.Positional],
    /,
    *,
    as_json: AsJson = False,
    fps: float = 30.0,
    forward: Facing = None,
    height: Height = None,
) -> None:
    """Measure a clip: contact, smoothness, amount of motion, gait, and the action it looks like. All clips if none is named.

    Example: akd evaluate fox.glb#Walk

    Args:
        clip: A rigged file, or one clip of it written as FILE#CLIP.
        fps: Frames per second at which the clip is sampled.
    """
    from rich.table import Table

    from akd.assets import load_clips
    from akd.contact.traces import trace
    from akd.measure.evaluation import evaluate_trace
    from akd.measure.judge import judge

    rig, names = load_clips(clip, forward=forward, height=height)
    found: dict[str, tuple] = {}
    for name in watched(names, len(names), f"measuring {rig.name}", quiet=as_json or len(names) == 1):
        read = _read_clip(rig, name, fps)
        traced = trace(rig, read.motion)  # the dearest part of a long clip: once for measures and judges
        found[name] = (evaluate_trace(rig, traced, from_file=True), read, judge(rig, read.motion, traced=traced))
    if as_json:
        shown = {name: x.as_dict() | {"residual": read.residual} | _judged(judged) for name, (x, read, judged) in found.items()}
        print_json(shown)
    elif len(found) == 1:
        ((name, (result, read, judged)),) = found.items()
        table = Table("metric", "value", title=f"{rig.name}#{name}: {result.verdict}")
        for row in [*result.rows(), ("residual", f"{read.residual:.3g}")]:
            table.add_row(*row)
        console().print(table, *(f"· {note}" for note in result.notes), sep="\n")
        console().print(*_judged_lines(judged), sep="\n", **PLAIN)
    else:
        columns = ("gait", "duty_factor", "alternation", "stride_frequency", "skating_ratio", "float_height", "penetration_max")
        table = Table("clip", *(c.replace("_", " ") for c in columns), "residual", "verdict", "looks like", title=rig.name)
        for name, (result, read, judged) in found.items():
            values = dict(result.rows())
            cells = [values[c.replace("_", " ")] for c in columns]
            table.add_row(name, *cells, f"{read.residual:.3g}", result.verdict, judged.short())
        console().print(table)


def _judged(judged: "Judgement") -> dict[str, object]:
    checks = {action: check.as_dict() for action, check in judged.checks.items()}
    return {"looks_like": None if judged.looks_like is None else judged.looks_like.as_dict(), "checks": checks}


def _judged_lines(judged: "Judgement") -> list[str]:
    """What the clip looks like, and which actions it does by their checks."""
    passed = [check.sentence() for check in judged.checks.values() if check.passed]
    return [f"looks like: {judged.short()}", *(f"check passed: {line}" for line in passed or ["none"])]


def convert(
    clip: Annotated[str, tyro.conf.Positional],
    /,
    *,
    out: Path,
    name: str | None = None,
    fps: float = 30.0,
    root: Literal["hips", "in-place", "bone"] = "hips",
    names: Literal["own", "mixamo", "vrm", "unreal"] = "own",
    keys: Literal["all", "reduced"] = "all",
    loop_suffix: bool = False,
    writer: Literal["own", "blender"] = "own",
    force: bool = False,
    forward: Facing = None,
    height: Height = None,
) -> None:
    """Take a clip through our skeleton and write it again: into the character's own file (.glb), or as .fbx, .usdz or .bvh.

    Examples:
        akd convert fox.glb#Walk --out fox-walk.fbx
        akd convert knight.glb --out knight.fbx --names unreal --root bone

    Args:
        clip: One clip of a rigged file, FILE#CLIP; without a clip's name all clips, for .fbx and .usdz. Or a run's folder.
        out: A new .glb (the character's own file with one clip more), .fbx, .usdz (.usd, .usda, .usdc) or .bvh file.
        name: What the clip is called in the new file; by default as in its own.
        fps: Frames per second of the new clip.
        root: What carries the movement over the ground: hips, a bone at the ground (Unreal, Unity), or in-place for nothing.
        names: Call the bones of a humanoid as Mixamo, VRM (and Unity) or Unreal do.
        keys: reduced writes as few keys as keep the skin within half a millimetre on a person, on smooth curves (.glb, .fbx).
        loop_suffix: Let the clip's name end in -loop, which Godot plays as a loop.
        writer: Who writes an .fbx: akd, or the Blender that AKD_BLENDER names, which keeps morph targets.
        force: Overwrite the output if it exists.
    """
    from akd.assets import ANIMATION_SUFFIXES, WRITERS, has_morph_targets, load_clips, motion_files, refuse_wishes, save_clips
    from akd.character.export import Export

    check_output(out, force=force, source=motion_files(clip)[0], endings=ANIMATION_SUFFIXES)
    export = Export(root, names, keys, loop_suffix, writer)
    refuse_wishes(out.suffix.lower(), export, 1)
    if Path(clip).is_dir():
        from akd.pipeline.export_runs import export_runs
        from akd.pipeline.runs import runs_in

        console().print(f"Wrote {export_runs(runs_in(Path(clip)), out, export, force=force)}.")
        return
    rig, found = load_clips(clip, forward=forward, height=height)
    if len(found) != 1 and (out.suffix.lower() not in WRITERS or name is not None):
        raise AkdError(f"{clip} has several clips; name one, as in {clip}#{found[0]}.")
    read = {name or each.split("|")[-1]: _read_clip(rig, each, fps) for each in found}
    save_clips(rig, {called: each.motion for called, each in read.items()}, out, export, fps=fps, force=force)
    seconds, residual = sum(each.motion.duration for each in read.values()), max(each.residual for each in read.values())
    clips = repr(_last_clip(out) or next(iter(read))) if len(read) == 1 else f"{len(read)} clips"
    console().print(f"Wrote {out}: {clips}, {seconds:.2f} s, residual {residual:.2%} of a leg length.")
    if out.suffix.lower() in WRITERS and writer == "own" and has_morph_targets(rig):
        console().print("· Morph targets are not in it: a .glb has them, or an .fbx with --writer blender.", **PLAIN)


def creature(
    prompt: Annotated[str, tyro.conf.Positional] = "",
    /,
    *,
    gait: str | None = None,
    seed: int = 0,
    cycles: int = 2,
    out: Path | None = None,
    sheet: Path | None = None,
    preview: Path | None = None,
    list: bool = False,
    force: bool = False,
) -> None:
    """Make a character from a sentence, let it move, and write it as a GLB.

    Example: akd creature "a tall giraffe" --gait walk --out giraffe.glb

    Args:
        prompt: Who it is, in words: species, colour, size, build.
        gait: How it moves: walk, trot, gallop, jump, …; by default what the sentence says, else walking. See --list.
        seed: Another seed, another individual.
        cycles: How many strides the clip holds.
        out: The GLB to write; by default named after the character, in the current folder.
        sheet: Also write a PNG with frames of the motion.
        preview: Also write a video (.mp4 or .gif).
        list: Show all kinds of character and what they can do, and stop.
        force: Overwrite outputs that exist.
    """
    from akd.pipeline import creature as showing

    screen = console()
    if list:
        screen.print(showing.creature_table())
        return
    if not prompt:
        raise AkdError('Say who it is, as in: akd creature "a small brown dog".')
    shown = showing.make_creature(prompt, gait=gait, seed=seed, cycles=cycles)
    for message in shown.messages:
        screen.print(f"· {message}")
    target = out or Path(f"{safe_name(shown.rig.name).replace(' ', '-')}-{shown.gait}.glb")
    for path in showing.write_creature(shown, target, sheet=sheet, preview=preview, force=force, watch=_drawing):
        screen.print(f"Wrote {path}")


def rig(
    file: File, /, *, out: Path | None = None, template: str | None = None, skeleton: Path | None = None, reweight: bool = False,
    heat: Literal["best", "paper"] = "best", sheet: Path | None = None, forward: Facing = None, height: Height = None,
    force: bool = False,
) -> None:  # fmt: skip
    """Give a mesh a skeleton and skin weights, from its shape alone.

    Example: akd rig statue.obj --out statue.glb

    Args:
        file: A mesh, or a rigged file whose weights are missing or to be replaced.
        out: The .glb to write; by default named after the mesh, in the current folder.
        template: What it is, if you know better: biped, bird, quadruped, insect, spider or snake.
        skeleton: A .json, .bvh, RigNet .txt or rigged file whose bones to use, in the mesh's own axes and units.
        reweight: Replace an artist's weights, which are kept otherwise.
        heat: The kind of heat weights: ours, nearer to what artists paint, or the paper's.
        sheet: Also write a PNG of mesh, bones and weights.
        force: Overwrite outputs that exist.
    """
    from akd.files.gltf.write_rig import write_rig
    from akd.files.video import PICTURE_ENDINGS, write_image
    from akd.render.sheets import rig_sheet
    from akd.rigging.rig_file import rig_file
    from akd.rigging.weights import PAPER

    target = out or Path(f"{safe_name(file.stem)}-rigged.glb")
    for path, endings in ((target, (".glb",)), *([(sheet, PICTURE_ENDINGS)] if sheet else [])):
        check_output(path, force=force, source=file, endings=endings)
        refuse_inputs([path], [skeleton] if skeleton else [])
    made = rig_file(
        file, skeleton=skeleton, template=template, reweight=reweight, forward=forward, height=height,
        settings=PAPER if heat == "paper" else None,
    )  # fmt: skip
    write_rig(made, {}, target)
    if sheet:
        write_image(sheet, rig_sheet(made))
    screen = console()
    for note in made.notes:
        screen.print(f"· {note}")
    limbs = ", ".join(limb.name for limb in made.skeleton.limbs)
    screen.print(f"Wrote {target}: {made.skeleton.joint_count} joints, {limbs}.")


def splat(
    file: File, /, *, out: Path | None = None, mode: Literal["fast", "paper"] = "fast", count: int = 20_000, seed: int = 0,
    force: bool = False,
) -> None:  # fmt: skip
    """Turn a character's mesh into Gaussian splats, a .ply that splat viewers open.

    Example: akd splat fox.glb --out fox.ply

    Args:
        file: A rigged or static mesh.
        out: The .ply to write; by default named after the character, in the current folder.
        mode: fast computes splats from the triangles in about a second; paper reconstructs them from 200 views, in minutes.
        count: How many splats at most.
        seed: For the random views of paper mode.
        force: Overwrite the output if it exists.
    """
    from akd.assets import check_seed, read_file
    from akd.files.splat_ply import write_splats
    from akd.reconstruct.skinned import mesh_splats

    target = out or Path(f"{safe_name(file.stem)}-splats.ply")
    check_output(target, force=force, source=file, endings=(".ply",))
    check_seed(seed)
    splats = mesh_splats(read_file(file).mesh, mode=mode, count=count, seed=seed)
    write_splats(target, splats)
    console().print(f"Wrote {target}: {splats.splat_count} splats.")


def _last_clip(path: Path) -> str | None:
    """What the clip that was added to a GLB is called there: it may have got a number, because its name was taken, or -loop."""
    from akd.files.gltf.document import read_document

    return read_document(path).json["animations"][-1]["name"] if path.suffix.lower() == ".glb" else None


def _read_clip(rig: "Rig", name: str, fps: float) -> "ReadClip":
    from akd.assets import check_fps
    from akd.character.clips import read_clip

    check_fps(fps)
    return read_clip(rig, name, fps)


def _drawing(frames, count: int):
    return watched(frames, count, "drawing the preview")
