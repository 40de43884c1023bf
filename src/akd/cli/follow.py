"""The commands that make a picture for an image-to-video model and follow the clip that comes of it."""

from pathlib import Path

from akd.cli.console import PLAIN, Facing, File, Height, console
from akd.files.video import PICTURE_ENDINGS, write_picture
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
    from akd.follow.first_frame import draw_first_frame, make_first_frame, parse_size, parse_view
    from akd.rigging.rig_file import load_or_rig

    beside = out.with_suffix(".json")
    seen, (width, tall) = parse_view(view), parse_size(size)
    check_output(out, force=force, source=character, endings=PICTURE_ENDINGS)
    check_output(beside, force=force, source=character)
    rig = load_or_rig(character, forward=forward, height=height)
    first = make_first_frame(rig, view=seen, width=width, height=tall)
    write_picture(out, draw_first_frame(rig, first, ground=ground))
    first.save(beside)
    screen = console()
    screen.print(f"Wrote {out} and {beside}.", **PLAIN)
    screen.print(f"Follow the clip made of it with: akd follow {character} CLIP.mp4 --first {beside}", **PLAIN)
