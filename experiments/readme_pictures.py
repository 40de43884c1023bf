"""The moving pictures of the README: finished runs as small looping GIFs.

``python -m experiments.readme_pictures NAME=RUN [NAME=RUN …] --out docs/pictures`` renders every run's motion on its character; a
run that followed a video shows the clip beside it if ``clip.mp4`` lies in its folder.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
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
    """The run's motion, and the clip that it follows beside it."""
    loaded = load_motion(run)
    motion = resample(loaded.motion, settings.fps)
    count = min(motion.frame_count, round(settings.seconds * settings.fps))
    look = PreviewSettings(width=settings.size, height=settings.size)
    drawn = [to_bytes(frame) for frame in preview_frames(loaded.rig, motion, look)][:count]
    clip = run / "clip.mp4"
    if not clip.is_file():
        return drawn
    seen = read_video(clip, size=(settings.size, settings.size), fps=settings.fps)[0]
    beside = [to_bytes(frame) for frame in torch.as_tensor(seen)[: len(drawn)]]
    return [np.concatenate(pair, 1) for pair in zip(beside, drawn, strict=False)]


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
