"""The moving pictures of the README: finished runs as small looping GIFs.

``python -m experiments.readme_pictures NAME=RUN [NAME=RUN …] --out docs/pictures`` renders every run's motion on its character; a
run of ``akd follow`` shows its preview, the clip beside the character.
"""

import json
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import tyro
from PIL import Image

from akd.assets import load_motion
from akd.files.video import read_video, to_bytes
from akd.motion import resample
from akd.render.preview import PreviewSettings, preview_frames


@dataclass(frozen=True)
class Settings:
    """What is drawn."""

    runs: tyro.conf.Positional[tuple[str, ...]]
    """NAME=RUN: the picture's name and the folder of the run."""
    out: Path = Path("docs/pictures")
    size: int = 240
    """Side of a picture [px]."""
    fps: float = 15.0
    seconds: float = 3.0
    """Longest picture."""
    colors: int = 96
    """Colours of the palette."""


def frames_of(run: Path, settings: Settings) -> list[np.ndarray]:
    """The run's motion on its character; of a run that follows a video, its preview with the clip beside it."""
    if "follow" in json.loads((run / "config.json").read_text(encoding="utf-8")):
        height, width = _size(run / "preview.mp4")
        size = settings.size, 2 * round(settings.size * width / height / 2)
        video = read_video(run / "preview.mp4", size=size, fps=settings.fps, end=settings.seconds)[0]
        return [to_bytes(frame) for frame in video]
    loaded = load_motion(run)
    motion = resample(loaded.motion, settings.fps)
    count = min(motion.frame_count, round(settings.seconds * settings.fps))
    look = PreviewSettings(width=settings.size, height=settings.size)
    return [to_bytes(frame) for frame in islice(preview_frames(loaded.rig, motion, look), count)]


def _size(path: Path) -> tuple[int, int]:
    """Height and width of a film [px]."""
    frame = read_video(path, end=0.05)[0][0]
    return frame.shape[0], frame.shape[1]


def main(settings: Settings) -> None:
    """Write every picture and say how large it is."""
    for entry in settings.runs:
        name, _, run = entry.partition("=")
        drawn = frames_of(Path(run), settings)
        pictures = [Image.fromarray(frame).quantize(settings.colors, dither=Image.Dither.NONE) for frame in drawn]
        path = settings.out / f"{name}.gif"
        pictures[0].save(
            path, save_all=True, append_images=pictures[1:], duration=round(1000 / settings.fps), loop=0, optimize=True,
            disposal=1,
        )  # fmt: skip
        print(f"{path}: {len(pictures)} frames, {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main(tyro.cli(Settings))
