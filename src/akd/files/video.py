"""Pictures that move: mp4 and GIF out, any video ffmpeg knows in, and contact sheets for looking at a clip at a glance.

A video is frames × height × width × 3 in [0, 1], sRGB. ffmpeg comes inside the imageio-ffmpeg wheel.
"""

import errno
import io
import math
import os
import re
import subprocess
import tempfile
from collections.abc import Generator, Iterable
from contextlib import closing, contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch
from jaxtyping import Float, UInt8
from PIL import Image, ImageOps
from torch import Tensor

from akd.errors import AkdError
from akd.files.reading import check_readable
from akd.files.writing import write_file, written_beside

Video = Float[Tensor, "frame height width 3"]
LARGEST = 4 * 2**30  # bytes of pixels that are read at once: 43 s of 1080p at 4 fps, or twelve minutes of 256 × 256 at 8
# Containers that hold their own pictures. Playlists and lists of files would let a video name any other file, or a host.
CONTAINERS = "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,gif,apng,mpegts,mpeg,mpegvideo,h264,hevc,flv,asf,ogg,ivf,webp_pipe,webp"
PICTURE_ENDINGS = (".png", ".jpg", ".jpeg", ".webp")
VIDEO_ENDINGS = (".mp4", ".gif")
PIPE = b"P6"  # frames come as binary PPM, which says how large each is


def write_video(path: Path | str, frames: Iterable[Float[Tensor, "height width 3"]], fps: float) -> Path:
    """Write a clip in the format its ending names: ``.mp4`` (H.264, plays everywhere) or ``.gif`` (loops).

    Frames are taken one at a time, so a long clip need not exist as a whole.
    """
    path = Path(path)
    check_video_name(path)
    writers = {".mp4": _write_mp4, ".gif": _write_gif}
    if not 0 < fps < math.inf:
        raise AkdError(f"Frames per second must be positive, not {fps}.")
    pictures = (to_bytes(frame) for frame in frames)
    first = next(pictures, None)
    if first is None:
        raise AkdError("A video needs at least one frame, and this one has none.")
    size = (first.shape[0], first.shape[1])
    writers[path.suffix.lower()](path, _alike(chain((first,), pictures), size), size, fps)
    return path


def check_video_name(path: Path) -> None:
    """Refuse a name whose ending is of no video that can be written."""
    if path.suffix.lower() not in VIDEO_ENDINGS:
        raise AkdError(f"Videos are written as .mp4 or .gif, not {path.suffix or 'without an ending'!r}: rename {path.name!r}.")


def read_picture(path: Path | str, *, size: tuple[int, int], whole: bool = False) -> Float[Tensor, "height width 3"]:
    """A picture file at a height and width [px]: scaled to cover them, and cut equally on both sides where it is longer.

    ``whole``: nothing is cut, and white is added instead.
    """
    path = Path(path)
    check_readable(path)
    try:
        with Image.open(path) as image:
            upright, extent = ImageOps.exif_transpose(image).convert("RGB"), (size[1], size[0])
            if whole:
                fitted = ImageOps.pad(upright, extent, Image.Resampling.LANCZOS, color="white")
            else:
                fitted = ImageOps.fit(upright, extent, Image.Resampling.LANCZOS)
    except (OSError, ValueError, Image.DecompressionBombError) as error:
        raise AkdError(f"{path} is no picture that can be read ({str(error)[:150].rstrip('.')}): give a .png or .jpg.") from error
    return torch.from_numpy(np.asarray(fitted).copy()).float() / 255


def read_video(
    path: Path | str, *, size: tuple[int, int] | None = None, fps: float | None = None, start: float = 0.0,
    end: float | None = None,
) -> tuple[Video, float]:  # fmt: skip
    """Frames and frames per second of a video file.

    ``size`` = (height, width) [pixels], ``fps`` and the span from ``start`` to ``end`` [s] are made by ffmpeg while it
    reads, so a large video costs no more memory than what is asked of it. Without them everything comes as it is.
    """
    path = Path(path)
    try:
        check_readable(path)
    except AkdError as error:
        raise AkdError(f"There is no video at {path}: {str(error).split('cannot be read: ')[-1]}") from None
    _check_wish(size, fps, start, end)
    own = _own_rate(path)
    frames, total = list[np.ndarray](), 0
    with closing(_decoded(path, size, fps, start, end)) as pictures:
        for picture in pictures:
            frames.append(picture)
            total += 4 * picture.size
            if total > LARGEST:
                shape = f"{picture.shape[0]} × {picture.shape[1]}"
                raise AkdError(f"{path.name!r} is too long to be read at once at {shape}; ask for a smaller size, fps or span.")
    if not frames:
        raise AkdError(f"{path.name!r} has no frame between {start:g} s and {'its end' if end is None else f'{end:g} s'}.")
    video = torch.empty(len(frames), *frames[0].shape)
    for index, frame in enumerate(frames):  # one by one: the whole never exists twice
        torch.div(torch.from_numpy(frame), 255, out=video[index])
    return video, float(fps or own)


def _check_wish(size: tuple[int, int] | None, fps: float | None, start: float, end: float | None) -> None:
    if size is not None and not (len(size) == 2 and all(1 <= side <= 16384 for side in size)):
        raise AkdError(f"A size is (height, width) in pixels from 1 to 16384, not {size}.")
    if fps is not None and not 0 < fps < math.inf:
        raise AkdError(f"Frames per second must be positive, not {fps}.")
    if not 0 <= start < math.inf or (end is not None and not start < end < math.inf):
        raise AkdError(f"A span begins at 0 s or later and ends after it begins, not from {start} s to {end} s.")


def _own_rate(path: Path) -> float:
    """Frames per second as the file says; ffmpeg describes its input and then complains that it has nothing to do."""
    done = subprocess.run(
        [_ffmpeg(), "-hide_banner", *_input(path)], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )  # fmt: skip
    said = done.stderr.decode(errors="replace")
    rate = re.search(r"Stream #.*Video: .*?([\d.]+)(k?) (?:fps|tbr)", said)
    value = float(rate[1]) * (1000 if rate[2] else 1) if rate else 0.0
    if not 0 < value < math.inf:
        raise AkdError(f"{path.name!r} is not a video that ffmpeg can read ({_last_line(said, path)}); convert it to mp4.")
    return value


def _decoded(
    path: Path, size: tuple[int, int] | None, fps: float | None, start: float, end: float | None
) -> Generator[UInt8[np.ndarray, "height width 3"], None, None]:
    """Frames one at a time, as ffmpeg hands them over."""
    filters = ([f"fps={fps:.9g}"] if fps else []) + ([f"scale={size[1]}:{size[0]}:flags=area"] if size else [])
    command = [
        _ffmpeg(), "-v", "error", "-nostdin", *(["-ss", f"{start:.6f}"] if start else []), *_input(path),
        *(["-t", f"{end - start:.6f}"] if end is not None else []), *(["-vf", ",".join(filters)] if filters else []),
        "-an", "-sn", "-dn", "-map", "0:v:0", "-f", "image2pipe", "-c:v", "ppm", "-pix_fmt", "rgb24", "pipe:1",
    ]  # fmt: skip
    with _running(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as (process, said):
        assert process.stdout is not None
        first = True
        while (picture := _next_picture(process.stdout)) is not None:
            yield picture
            first = False
        if process.wait() and first:  # a video that is cut off gives the frames it has
            raise AkdError(f"{path.name!r} is not a video that ffmpeg can read ({_last_line(said(), path)}); convert it to mp4.")


def _next_picture(stream: IO[bytes]) -> UInt8[np.ndarray, "height width 3"] | None:
    """One binary PPM picture, or nothing where the stream ends."""
    if stream.readline().strip() != PIPE:
        return None
    width, height = (int(word) for word in stream.readline().split())
    stream.readline()  # the largest value, 255
    content = stream.read(height * width * 3)
    return np.frombuffer(bytearray(content), np.uint8).reshape(height, width, 3) if len(content) == height * width * 3 else None


def _input(path: Path) -> list[str]:
    """ffmpeg's words for a file that is a video and nothing else, whatever its name looks like."""
    return ["-protocol_whitelist", "file", "-format_whitelist", CONTAINERS, "-i", f"file:{path.resolve()}"]


def _ffmpeg() -> str:
    import imageio_ffmpeg

    return str(imageio_ffmpeg.get_ffmpeg_exe())


@contextmanager
def _running(command: list[str], **streams: Any) -> Generator[tuple["subprocess.Popen[bytes]", Any], None, None]:
    """A process that ends when the block does, and what it has said so far. Its words go to a file: a pipe could fill up."""
    with tempfile.TemporaryFile() as spoken:

        def said() -> str:
            spoken.seek(max(spoken.seek(0, os.SEEK_END) - 8192, 0))
            return spoken.read().decode(errors="replace")

        with subprocess.Popen(command, stderr=spoken, **streams) as process:
            try:
                yield process, said
            finally:
                if process.poll() is None:
                    process.kill()


def _last_line(said: str, path: Path) -> str:
    """The last thing ffmpeg said about a file, without the folders it lies in."""
    lines = [line.strip() for line in said.splitlines() if line.strip() and "output file" not in line]
    return (lines[-1] if lines else "it says nothing").replace(f"file:{path.resolve()}", path.name)[:200].rstrip(".")


def write_picture(path: Path | str, picture: Float[Tensor, "height width 3"]) -> Path:
    """Write one picture; PNG keeps it exactly."""
    write_image(path, Image.fromarray(to_bytes(picture)))
    return Path(path)


def write_image(path: Path | str, image: Image.Image) -> None:
    """Write a picture in the format its ending names, whole or not at all."""
    path, content = Path(path), io.BytesIO()
    kind = Image.registered_extensions().get(path.suffix.lower())
    if kind not in Image.SAVE:
        raise AkdError(f"Pictures are written as .png, .jpg or .webp, not {path.suffix!r}: rename {path.name!r}.")
    image.save(content, kind)
    write_file(path, content.getvalue())


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
    # H.264 with the colour format all players know stores colour at half size: odd sizes get a copy of their last row.
    height, width = size
    rim = ((0, height % 2), (0, width % 2), (0, 0))
    with written_beside(path) as part:
        command = [
            _ffmpeg(), "-y", "-v", "error", "-f", "rawvideo", "-pix_fmt", "rgb24",
            "-s", f"{width + width % 2}x{height + height % 2}", "-r", f"{fps:.9g}", "-i", "pipe:0",
            "-an", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", "16",
            "-preset", "veryfast", "-movflags", "+faststart", f"file:{part}",
        ]  # fmt: skip
        with _running(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as (process, said):
            assert process.stdin is not None
            with suppress(BrokenPipeError):  # ffmpeg has given up; why, it says below
                for picture in pictures:
                    process.stdin.write(np.pad(picture, rim, mode="edge").tobytes())
                process.stdin.close()
            if process.wait() or not part.is_file():
                raise _write_error(said(), part)


def _write_error(said: str, part: Path) -> OSError:
    """What ffmpeg says as the error that it met; its exit status does not tell."""
    for code in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EIO):
        if os.strerror(code).lower() in said.lower():
            return OSError(code, os.strerror(code))
    return OSError(f"ffmpeg failed: {_last_line(said, part)}")


def _write_gif(path: Path, pictures: Iterable[np.ndarray], size: tuple[int, int], fps: float) -> None:
    first, *rest = (Image.fromarray(picture).quantize(dither=Image.Dither.NONE) for picture in pictures)
    # GIF counts time in hundredths of a second: round where each frame ends, not how long it lasts, or the errors add up.
    ends = np.rint(np.arange(len(rest) + 2) * 100 / fps).astype(int)
    lengths = np.maximum(np.diff(ends), 1) * 10
    content = io.BytesIO()
    first.save(content, "GIF", save_all=True, append_images=rest, duration=lengths.tolist(), loop=0)
    write_file(path, content.getvalue())


def _alike(pictures: Iterable[np.ndarray], size: tuple[int, int]) -> Generator[np.ndarray, None, None]:
    """The same pictures, all of one size: a frame of another would shift all that follow."""
    for index, picture in enumerate(pictures):
        if picture.shape[:2] != size:
            raise AkdError(f"Frame {index} is {picture.shape[0]} × {picture.shape[1]}, but the first is {size[0]} × {size[1]}.")
        yield picture
