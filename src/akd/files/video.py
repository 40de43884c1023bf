"""Pictures that move: mp4 and GIF out, any video ffmpeg knows in, and contact sheets for looking at a clip at a glance.

A video is frames × height × width × 3 in [0, 1], sRGB. ffmpeg comes inside the imageio-ffmpeg wheel.
"""

from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, UInt8
from PIL import Image
from torch import Tensor

from akd.errors import AkdError

Video = Float[Tensor, "frame height width 3"]


def write_video(path: Path | str, frames: Iterable[Float[Tensor, "height width 3"]], fps: float) -> Path:
    """Write a clip in the format its ending names: ``.mp4`` (H.264, plays everywhere) or ``.gif`` (loops).

    Frames are taken one at a time, so a long clip need not exist as a whole.
    """
    path = Path(path)
    writers = {".mp4": _write_mp4, ".gif": _write_gif}
    if path.suffix.lower() not in writers:
        raise AkdError(f"Videos are written as .mp4 or .gif, not {path.suffix or 'without an ending'!r}: rename {path.name!r}.")
    if not fps > 0:
        raise AkdError(f"Frames per second must be positive, not {fps}.")
    pictures = (to_bytes(frame) for frame in frames)
    first = next(pictures, None)
    if first is None:
        raise AkdError("A video needs at least one frame, and this one has none.")
    path.parent.mkdir(parents=True, exist_ok=True)
    writers[path.suffix.lower()](path, chain((first,), pictures), first.shape[:2], fps)
    return path


def read_video(path: Path | str) -> tuple[Video, float]:
    """Frames and frames per second of a video file."""
    import imageio_ffmpeg

    path = Path(path)
    if not path.is_file():
        raise AkdError(f"There is no video at {path}.")
    try:
        reader = imageio_ffmpeg.read_frames(str(path), pix_fmt="rgb24")
        about = next(reader)
        width, height = about["size"]
        frames = [np.frombuffer(frame, np.uint8).reshape(height, width, 3) for frame in reader]
    except (OSError, RuntimeError, StopIteration) as error:
        raise AkdError(f"{path.name!r} is not a video that ffmpeg can read.") from error
    return torch.from_numpy(np.stack(frames)).float() / 255, float(about["fps"])


def write_picture(path: Path | str, picture: Float[Tensor, "height width 3"]) -> Path:
    """Write one picture; PNG keeps it exactly."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(to_bytes(picture)).save(path)
    return path


def contact_sheet(
    frames: Video, *, columns: int = 6, enlarge: int = 1, gap: int = 2
) -> Float[Tensor, "sheet_height sheet_width 3"]:
    """All frames on one white sheet, row by row. ``enlarge`` repeats pixels, so that tiny frames can be inspected."""
    if columns < 1 or enlarge < 1 or len(frames) == 0:
        raise AkdError(f"A contact sheet needs frames, columns and a size: got {len(frames)}, {columns} and {enlarge}.")
    frames = frames.detach().repeat_interleave(enlarge, 1).repeat_interleave(enlarge, 2)
    count, height, width, _ = frames.shape
    rows = -(-count // columns)
    columns = min(columns, count)
    sheet = frames.new_ones(rows * (height + gap) - gap, columns * (width + gap) - gap, 3)
    for index, frame in enumerate(frames):
        top, left = (index // columns) * (height + gap), (index % columns) * (width + gap)
        sheet[top : top + height, left : left + width] = frame
    return sheet


def every(frames: Video, count: int) -> Float[Tensor, "chosen height width 3"]:
    """At most ``count`` frames, evenly spread from the first to the last."""
    return frames[torch.linspace(0, len(frames) - 1, min(count, len(frames))).round().long()]


def to_bytes(picture: Float[Tensor, "height width 3"]) -> UInt8[np.ndarray, "height width 3"]:
    """Eight bits a channel."""
    values = picture.detach().cpu().float().numpy()
    if not np.isfinite(values).all():
        raise AkdError("The picture has pixels that are not finite numbers, and so has what it was filmed from.")
    return np.rint(np.clip(values, 0, 1) * 255).astype(np.uint8)


def _write_mp4(path: Path, pictures: Iterable[np.ndarray], size: tuple[int, int], fps: float) -> None:
    import imageio_ffmpeg

    # H.264 with the colour format all players know stores colour at half size: odd sizes get a copy of their last row.
    height, width = size
    rim = ((0, height % 2), (0, width % 2), (0, 0))
    writer = imageio_ffmpeg.write_frames(
        str(path), (width + width % 2, height + height % 2), fps=fps, codec="libx264", macro_block_size=1,
        quality=None, output_params=["-crf", "16", "-preset", "veryfast", "-movflags", "+faststart"],
    )  # fmt: skip
    writer.send(None)
    for picture in pictures:
        writer.send(np.pad(picture, rim, mode="edge"))
    writer.close()


def _write_gif(path: Path, pictures: Iterable[np.ndarray], size: tuple[int, int], fps: float) -> None:
    first, *rest = (Image.fromarray(picture).quantize(dither=Image.Dither.NONE) for picture in pictures)
    # GIF counts time in hundredths of a second: round where each frame ends, not how long it lasts, or the errors add up.
    ends = np.rint(np.arange(len(rest) + 2) * 100 / fps).astype(int)
    lengths = np.maximum(np.diff(ends), 1) * 10
    first.save(path, save_all=True, append_images=rest, duration=lengths.tolist(), loop=0)
