"""Reading a clip: any container that ffmpeg knows, a GIF, or a folder of frames; at the size and rate that following needs.

Frames come at even times whatever the file's own rate does. A cut is refused, because nothing carries over it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, UInt8
from PIL import Image, UnidentifiedImageError

from akd.errors import AkdError
from akd.files.video import CONTAINERS

PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff")
SIDE = 288
"""Longer side of what is read [px]: optical flow needs about this; more does not change the fit."""
MAX_FPS = 30.0
"""Faster clips are thinned out [1/s]."""
MAX_SECONDS = 20.0
"""Longest clip [s]; longer ones are followed in parts."""
MIN_FRAMES = 4
CUT_CHANGE, CUT_RATIO = 0.09, 6.0
"""Two frames are on both sides of a cut if the mean pixel changes by this share of the range, and by so many times what it
changes between the frames around them."""
FOLDER_FPS = 24.0
"""Rate of a folder of frames whose rate is not given [1/s]."""
Decoded = tuple[float, np.ndarray, np.ndarray | None, tuple[int, int]]
"""Time [s], picture, alpha, and the size it has in the file."""


@dataclass(frozen=True, eq=False)
class Clip:
    """A part of a video, at even times."""

    frames: UInt8[np.ndarray, "frame height width 3"]
    fps: float
    start: float
    """Of its first frame in the file [s]."""
    size: tuple[int, int]
    """Width and height in the file [px]."""
    alpha: UInt8[np.ndarray, "frame height width"] | None = None
    """Where the subject is, if the file says so."""
    name: str = "clip"

    @property
    def frame_count(self) -> int:
        return len(self.frames)

    @property
    def times(self) -> Float[np.ndarray, " frame"]:
        """From the first frame on [s]."""
        return np.arange(len(self.frames)) / self.fps


def read_clip(
    path: Path | str, *, start: float = 0.0, end: float | None = None, side: int = SIDE, fps: float | None = None
) -> Clip:
    """The part of a video from ``start`` to ``end`` [s], its longer side ``side`` pixels; ``fps`` is a folder's."""
    path = Path(path)
    if not path.exists():
        raise AkdError(f"There is no clip at {path}.")
    if not start >= 0 or (end is not None and not end > start):
        raise AkdError(f"A part of a clip begins at 0 s or later and ends after it begins, not from {start:g} s to {end} s.")
    pictures = _folder(path, fps or FOLDER_FPS, side) if path.is_dir() else _video(path, start, end, side)
    times, frames, alphas, size = list[float](), list[np.ndarray](), list[np.ndarray | None](), (0, 0)
    for time, frame, alpha, own in pictures:
        if time < start - 1e-6 or (end is not None and time > end + 1e-6):
            continue
        if times and time - times[0] > MAX_SECONDS:
            raise _too_long(path, time - times[0])
        if frames and frame.shape != frames[0].shape:
            raise AkdError(f"{path.name} changes its size at {time:.2f} s: give a part with --from and --to, or convert it.")
        times.append(time)
        frames.append(frame)
        alphas.append(alpha)
        size = own
    if len(frames) < MIN_FRAMES:
        where = f" from {start:g} s to {'its end' if end is None else f'{end:g} s'}"
        raise AkdError(f"{path.name} has {len(frames)} frames{where}; a motion needs at least {MIN_FRAMES}: give a longer part.")
    chosen, rate = even_times(np.array(times))
    alpha = None if any(each is None for each in alphas) else np.stack([a for a in alphas if a is not None])[chosen]
    if alpha is not None and alpha.min() == 255:
        alpha = None  # a channel that hides nothing says nothing
    clip = Clip(np.stack(frames)[chosen], rate, times[0], size, alpha, path.stem)
    cut = find_cut(clip.frames)
    if cut is not None:
        when = clip.start + cut / rate
        raise AkdError(
            f"{path.name} has a cut at {when:.2f} s, and nothing can be followed over a cut: give one side of it, with"
            f" --to {clip.start + (cut - 1) / rate:.2f} or --from {when:.2f}."
        )
    return clip


def even_times(times: Float[np.ndarray, " frame"]) -> tuple[np.ndarray, float]:
    """Which frames to take for even times at a rate of at most ``MAX_FPS``, and that rate; the nearest where rates vary."""
    steps = np.diff(times)
    step = float(np.median(steps[steps > 0])) if (steps > 0).any() else 1 / FOLDER_FPS
    even = bool(np.all(np.abs(steps - step) < 0.25 * step))
    step = float((times[-1] - times[0]) / (len(times) - 1)) if even else step
    thin = int(np.ceil(1 / (step * MAX_FPS) - 0.1)) if 1 / step > MAX_FPS else 1
    if even:
        return np.arange(0, len(times), thin), 1 / (step * thin)
    grid = np.arange(times[0], times[-1] + 0.25 * step, step * thin)
    return np.abs(times[None] - grid[:, None]).argmin(1), 1 / (step * thin)


def find_cut(frames: UInt8[np.ndarray, "frame height width 3"]) -> int | None:
    """The first frame after a cut, if there is one: a sudden change of the whole picture that is not part of a fast motion."""
    height, width = (max(side // 16, 1) for side in frames.shape[1:3])
    small = frames[:, : height * 16, : width * 16].reshape(len(frames), 16, height, 16, width, 3).mean((2, 4)) / 255
    change = np.abs(np.diff(small, axis=0)).mean((1, 2, 3))
    for index, value in enumerate(change):
        around = np.concatenate((change[max(index - 4, 0) : index], change[index + 1 : index + 5]))
        if value > CUT_CHANGE and value > CUT_RATIO * max(float(np.median(around)), 1e-3):
            return index + 1
    return None


def _too_long(path: Path, seconds: float) -> AkdError:
    return AkdError(
        f"{path.name} takes {seconds:.0f} s or more, and at most {MAX_SECONDS:g} s are followed at once:"
        f" give a part, as in --from 0 --to {MAX_SECONDS:g}."
    )


def _video(
    path: Path, start: float, end: float | None, side: int
) -> Iterator[Decoded]:
    """Frames, decoded one by one and made small at once."""
    import av

    try:
        with av.open(str(path), options={"format_whitelist": CONTAINERS}, metadata_errors="replace") as container:
            if not container.streams.video:
                raise AkdError(f"{path.name} has no pictures in it: give a video.")
            stream = container.streams.video[0]
            stream.thread_type = "AUTO"
            length = float(stream.duration * stream.time_base) if stream.duration and stream.time_base else None
            length = length or (container.duration / 1e6 if container.duration else None)
            span = None if length is None else (length if end is None else min(end, length)) - start
            if span is not None and span > MAX_SECONDS + 1:
                raise _too_long(path, span)
            if start > 1:
                container.seek(int((start - 0.5) * 1e6), backward=True)
            yield from _decoded(container, stream, end, side)
    except av.error.FFmpegError as error:
        reason = str(error).split("]")[-1].split(":")[0].strip() or type(error).__name__
        raise AkdError(f"{path.name} is not a video that can be read ({reason[:80]}): convert it to mp4.") from error


def _decoded(container, stream, end: float | None, side: int) -> Iterator[Decoded]:
    """Frames until ``end``; a file that is cut off gives the frames it has."""
    import av

    count = 0
    frames = container.decode(stream)
    while True:
        try:
            frame = next(frames)
        except (StopIteration, av.error.EOFError):
            return
        except av.error.FFmpegError:
            if count < MIN_FRAMES:
                raise
            return
        time = float(frame.time) if frame.time is not None else count / float(stream.average_rate or FOLDER_FPS)
        count += 1
        if end is not None and time > end + 1e-6:
            return
        scale = min(1.0, side / max(frame.width, frame.height))
        width, height = max(round(frame.width * scale), 2), max(round(frame.height * scale), 2)
        clear = any(word in frame.format.name for word in ("rgba", "bgra", "argb", "abgr", "yuva", "gbrap", "pal8"))
        small = frame.reformat(width=width, height=height, format="rgba" if clear else "rgb24", interpolation="AREA").to_ndarray()
        turns = round((getattr(frame, "rotation", 0) or 0) / 90) % 4
        small = np.rot90(small, turns) if turns else small
        own = (frame.height, frame.width) if turns % 2 else (frame.width, frame.height)
        yield time, np.ascontiguousarray(small[..., :3]), small[..., 3].copy() if clear else None, own


def _folder(path: Path, fps: float, side: int) -> Iterator[Decoded]:
    files = picture_files(path)
    if not files:
        raise AkdError(f"{path} has no pictures in it: give a video, or a folder of {', '.join(PICTURES[:3])} files.")
    for index, file in enumerate(files):
        image = open_picture(file)
        own = image.size
        scale = min(1.0, side / max(own))
        small = image.resize((max(round(own[0] * scale), 2), max(round(own[1] * scale), 2)), Image.Resampling.BOX)
        clear = "A" in small.getbands() or "transparency" in image.info
        array = np.asarray(small.convert("RGBA"))
        yield index / fps, array[..., :3].copy(), array[..., 3].copy() if clear else None, own


def picture_files(folder: Path) -> list[Path]:
    """Pictures of a folder in the order of the numbers in their names."""
    found = [file for file in folder.iterdir() if file.suffix.lower() in PICTURES]
    return sorted(found, key=lambda file: ([int(part) for part in re.findall(r"\d+", file.stem)], file.name))


def open_picture(path: Path) -> Image.Image:
    """A picture, decoded."""
    try:
        image = Image.open(path)
        image.load()
    except (OSError, UnidentifiedImageError, ValueError, Image.DecompressionBombError) as error:
        raise AkdError(f"{path} is not a picture that can be read: {str(error)[:80]}.") from error
    return image
