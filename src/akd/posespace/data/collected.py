"""Poses from other makers: what distillation left in its runs, tagged, beside the poses of our own choreographies."""

from pathlib import Path

import numpy as np
import torch

from akd.assets import load_rig
from akd.errors import AkdError
from akd.files.motion_npz import read_motion
from akd.posespace.bends import pose_bends
from akd.posespace.data.specimens import Specimen, sound, write_shard
from akd.posespace.sketch import sketch_of

DISTILLED = "distilled"


def collect_runs(runs: list[Path], folder: Path, *, source: str = DISTILLED, every: int = 2) -> int:
    """Take every so-manieth frame of the runs' motions into a run of the pose space; returns how many poses were kept."""
    specimens = [_specimen(run, source, every) for run in runs]
    found = [specimen for specimen in specimens if len(specimen.bends)]
    if not found:
        raise AkdError(f"None of the {len(runs)} runs holds a pose that does not run into itself.")
    target = folder / "poses" / source
    target.mkdir(parents=True, exist_ok=True)
    number = len(list(target.glob("*.npz")))
    write_shard(target / f"{number:06d}.npz", found)
    return sum(len(specimen.bends) for specimen in found)


def _specimen(run: Path, source: str, every: int) -> Specimen:
    for name in ("rig.glb", "motion.npz"):
        if not (run / name).is_file():
            raise AkdError(f"{run} has no {name}, so it is not a finished run.")
    rig = load_rig(run / "rig.glb")
    bends = pose_bends(read_motion(run / "motion.npz", rig.skeleton).pose)[::every].to(torch.float32)
    kept: np.ndarray = bends[sound(rig, bends)].numpy()
    return Specimen(rig.name, 0, source, sketch_of(rig), kept)
