"""``python -m akd.training.recogniser --motions DIR``: train the recogniser on real motion and write its weights.

Only the part ``train`` of the motion data is read. Sharpness is found on left-out subjects and families. The same command gives
the same bytes; with a cache of what was read it takes a minute or two of one core.
"""

import json
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
import tyro

from akd.measure.body import Build
from akd.measure.recognise import WEIGHTS
from akd.training.recogniser.clips import read_clips
from akd.training.recogniser.fit import FitSettings, best_sharpness, feature_table, fit
from akd.training.recogniser.labels import CLASSES
from akd.training.recogniser.left_out import left_out_probabilities


@dataclass(frozen=True)
class Options:
    """Where from and where to."""

    motions: Path = Path("../shared/motions")
    """The folder that holds cmu/ and glb/ with their index.json."""
    out: Path = WEIGHTS
    cache: Path | None = None
    """A folder in which clips are stored once they are read."""
    folds: int = 5
    """Folds of subjects and families, for the sharpness."""
    fit: FitSettings = field(default_factory=FitSettings)


def main(options: Options) -> None:
    from safetensors.numpy import save

    from akd.files.writing import write_file

    torch.set_num_threads(1)
    clips = list(read_clips(options.motions, "train", options.cache))
    about: dict[str, dict] = {}
    arrays: dict[str, np.ndarray] = {}
    build: Build
    for build in CLASSES:
        table = feature_table([clip for clip in clips if clip.body.build == build], with_cuts=True, seed=options.fit.seed)
        classes, raw = left_out_probabilities(table, build, options.fit, folds=options.folds)
        place = np.array([classes.index(action) for action in table.action])
        settings = replace(options.fit, sharpness=best_sharpness(raw, place))
        _, about[build], named = fit(table, build, settings)
        arrays |= named
        right = (raw.argmax(1) == place)[~table.is_cut].mean()
        print(
            f"{build}: {(~table.is_cut).sum()} clips, {len(classes)} classes, {right:.3f} right on left-out groups, "
            f"sharpness {settings.sharpness:g}"
        )
    write_file(options.out, save(arrays, {"models": json.dumps(about)}))
    print(f"Wrote {options.out}: {options.out.stat().st_size / 1e6:.1f} MB.")


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
