"""Understanding, clip residuals and gaits of rigs made by others: all tables of docs/assets-tables.md.

    python -m experiments.assets FOLDER > docs/assets-tables.md
"""

import sys
from pathlib import Path

import numpy as np

from akd.assets import load_rig
from akd.character.clips import read_clip
from akd.errors import AkdError
from akd.measure.evaluation import evaluate
from akd.rig import Rig

GAIT_WORDS = ("walk", "run", "gallop", "jump", "flying")
CLIPS_EACH = 12  # residuals are measured on at most so many clips of a file, evenly spread


def anatomy_row(name: str, rig: Rig) -> str:
    """One line of the table of rigs."""
    assert rig.origin is not None
    skeleton = rig.skeleton
    counts = ", ".join(
        f"{len(found)} {kind}{'s' if len(found) > 1 else ''}"
        for kind in ("leg", "arm", "wing", "fin", "tail", "neck", "head")
        if (found := skeleton.limbs_of(kind))  # type: ignore[arg-type]
    )
    ahead = rig.origin.T_file_stage[:3, 0]
    axis = int(np.argmax(np.abs(ahead)))
    facing = ("+" if ahead[axis] > 0 else "−") + "xyz"[axis]
    bones = f"{len(rig.origin.file.names)} → {skeleton.joint_count}"
    return f"| {name} | {bones} | {skeleton.names[0]} | {counts} | {facing} | {rig.leg_metres:.2f} |"


def residuals(rig: Rig) -> list[tuple[str, float]]:
    """Mean error of each of some clips [ℓ]."""
    assert rig.origin is not None
    clips = rig.origin.file.clips
    chosen = clips[:: max(1, -(-len(clips) // CLIPS_EACH))]
    return [(clip.name.split("|")[-1], read_clip(rig, clip.name).residual) for clip in chosen]


def gait_rows(name: str, rig: Rig) -> list[str]:
    """One line for each clip that should be locomotion."""
    assert rig.origin is not None
    out = []
    for clip in rig.origin.file.clips:
        if not any(word in clip.name.lower() for word in GAIT_WORDS) and len(rig.origin.file.clips) > 1:
            continue
        read = read_clip(rig, clip.name)
        values = dict(evaluate(rig, read.motion, from_file=True).rows())
        columns = ("gait", "duty factor", "alternation", "stride frequency", "treadmill speed", "skating ratio", "float height")
        cells = (name, clip.name.split("|")[-1], *(values[c] for c in columns), f"{read.residual:.2%}")
        out.append("| " + " | ".join(cells) + " |")
    return out


def main(folder: Path) -> None:
    """Print the three tables."""
    rigs: dict[str, Rig] = {}
    for path in sorted(folder.glob("*/*.glb")):
        try:
            rigs[path.stem] = load_rig(path)
        except AkdError as error:
            print(f"{path.name}: {error}\n")
    print("## Rigs\n\n| file | bones → joints | root | limbs | faces | leg [m] |\n|---|---|---|---|---|---|")
    print(*(anatomy_row(name, rig) for name, rig in rigs.items()), sep="\n")
    print("\n## What a motion holds of the clips\n\n| file | clips | median residual [ℓ] | worst clip |\n|---|---|---|---|")
    for name, rig in rigs.items():
        if rig.origin is not None and rig.origin.file.clips and rig.skeleton.joint_count < 200:
            lost = residuals(rig)
            worst = max(lost, key=lambda x: x[1])
            print(f"| {name} | {len(lost)} | {np.median([x for _, x in lost]):.2%} | {worst[0]} {worst[1]:.2%} |", flush=True)
    print("\n## Gaits of the artists\n")
    print("| file | clip | gait | duty | alternation | stride [Hz] | treadmill [ℓ/s] | skating | float [ℓ] | residual |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, rig in rigs.items():
        if rig.legs and rig.skeleton.joint_count < 200:
            print(*gait_rows(name, rig), sep="\n", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "../shared/assets"))
