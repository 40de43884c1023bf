"""The commands that make a picture for an image-to-video model and follow the clip that comes of it."""

from pathlib import Path
from typing import Annotated, Literal

import tyro

from akd.cli.console import PLAIN, Facing, File, Height, console
from akd.errors import AkdError
from akd.files.writing import check_output


def picture(
    character: File,
    /,
    *,
    out: Path = Path("first.png"),
    view: str = "three-quarter",
    size: str = "1280x720",
    ground: bool = False,
    force: bool = False,
    forward: Facing = None,
    height: Height = None,
) -> None:
    """Draw the first frame to give to an image-to-video model.

    The character stands at ease before a plain background. Beside the picture a .json of the same name keeps camera and pose:
    give it to `akd follow` together with the clip that the model makes of the picture.

    Examples:
        akd picture fox.glb --out first.png
        akd picture knight.glb --view side --size 832x480 --ground

    Args:
        character: The character's file.
        out: The picture to write; .json beside it.
        view: three-quarter, side, front, behind, top, or AZIMUTH,ELEVATION in degrees (0 = from the front, 90 = its right).
        size: WIDTHxHEIGHT in pixels, the size of the video model.
        ground: Stand on a ground with a shadow instead of before a plain background.
        force: Overwrite files that exist.
    """
    from akd.files.video import PICTURE_ENDINGS, write_picture
    from akd.follow.first_frame import draw_first_frame, make_first_frame, parse_size, parse_view
    from akd.rigging.rig_file import load_or_rig

    seen, (width, tall) = parse_view(view), parse_size(size)
    check_output(out, force=force, source=character, endings=PICTURE_ENDINGS)
    beside = out.with_suffix(".json")
    check_output(beside, force=force, source=character)
    rig = load_or_rig(character, forward=forward, height=height)
    first = make_first_frame(rig, view=seen, width=width, height=tall)
    write_picture(out, draw_first_frame(rig, first, ground=ground))
    first.save(beside)
    screen = console()
    screen.print(f"Wrote {out} and {beside}.", **PLAIN)
    screen.print(f"Follow the clip made of it with: akd follow {character} CLIP.mp4 --first {beside}", **PLAIN)


def follow(
    *files: Annotated[Path, tyro.conf.Positional],
    first: Path | None = None,
    start: Annotated[float, tyro.conf.arg(name="from")] = 0.0,
    end: Annotated[float | None, tyro.conf.arg(name="to")] = None,
    masks: Path | None = None,
    fps: float | None = None,
    camera: Literal["auto", "static", "following"] = "auto",
    out: Path | None = None,
    resume: Path | None = None,
    force: bool = False,
    forward: Facing = None,
    height: Height = None,
) -> None:
    """Follow a video of a character: its motion on the character's own skeleton.

    The clip may come from an image-to-video model that was given the picture of `akd picture`, or from anywhere else, as long as
    it shows this character in whole, without cuts. A folder is written: animated.glb (your own file plus a clip), preview.mp4
    (clip and render side by side), report.html, motion.npz, result.json with how well it matches and what was only guessed.
    Stop it with Ctrl-C at any time and go on with --resume.

    Examples:
        akd follow fox.glb clip.mp4 --first first.json
        akd follow fox.glb clip.mp4 --from 1.5 --to 4
        akd follow --resume runs/fox-clip

    Args:
        files: The character's file and the clip: a video, a GIF, or a folder of frames.
        first: Camera and pose of the first frame, as `akd picture` wrote them; without it the camera is searched for.
        start: Where to begin in the clip [s].
        end: Where to end [s].
        masks: A folder with a mask for every frame that is followed, white on black or with an alpha channel.
        fps: Frames per second of a folder of frames; 24 by default.
        camera: static stands; following goes along with the character, whose way is read from its feet; auto stands unless the
            background turns.
        out: The folder to write to; by default named after character and clip, under runs/.
        resume: Go on with this run's folder.
        force: Overwrite a run that exists.
    """
    from akd.cli.progress import RunProgress
    from akd.pipeline.follow import FollowJob, begin_follow, resume_follow

    screen = console()
    folder = resume
    try:
        with RunProgress(screen) as progress:
            if resume is not None:
                if files:
                    raise AkdError(f"--resume goes on with what {resume} was asked for: leave {str(files[-1])!r} out.")
                run = resume_follow(resume, progress)
            else:
                if len(files) != 2:
                    raise AkdError("Give a character and a clip, as in: akd follow fox.glb clip.mp4.")
                character, clip = files
                if not character.is_file():
                    raise AkdError(f"There is no file {character}.")
                job = FollowJob(
                    str(character.resolve()), str(clip.resolve()), first=None if first is None else str(first.resolve()),
                    masks=None if masks is None else str(masks.resolve()), start=start, end=end, fps=fps, camera=camera,
                    forward=forward, height=height,
                )  # fmt: skip
                folder = out or Path("runs") / job.name
                run = begin_follow(folder, job, progress, force=force)
    except KeyboardInterrupt:
        if folder is not None and (folder / "config.json").is_file():
            screen.print(f"Stopped; what was done is kept. Go on with: akd follow --resume {folder}", **PLAIN)
        raise
    screen.print(f"Wrote {run.path}: animated.glb, preview.mp4, report.html, motion.npz", **PLAIN)
    screen.print(run.result()["sentence"], style="bold", **PLAIN)
