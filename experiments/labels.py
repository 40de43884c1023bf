"""``python -m experiments.labels [--part train|test|all] [--sheet labels.png]``: limb labels of others' characters against
what each character is.

The kinds of character are those of the index beside the files. Thresholds of ``akd.character`` were chosen on the part
``train``; the part ``test`` is for measuring only.
"""

import json
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Literal

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

from akd.assets import load_rig
from akd.render.looks import limb_color
from akd.render.sheets import sheet
from akd.rig import Rig
from akd.skeleton import Kind

Counts = dict[Kind, tuple[int, ...]]
"""How many limbs of a kind there may be; kinds that are not listed are free."""

UPRIGHT: Counts = {"leg": (2,), "arm": (2,), "wing": (0,), "fin": (0,)}
FOUR_LEGGED: Counts = {"leg": (4,), "arm": (0,), "wing": (0,), "fin": (0,)}
LIMBLESS: Counts = {"leg": (0,), "arm": (0,), "wing": (0,), "fin": (0,)}
EXPECTED: dict[str, Counts] = {
    "human": UPRIGHT,
    "biped": UPRIGHT,
    "biped (blocky)": UPRIGHT,
    "biped animal": UPRIGHT,
    "robot": {"leg": (2, 4), "fin": (0,)},
    "quadruped": FOUR_LEGGED,
    "quadruped (blocky)": FOUR_LEGGED,
    "winged quadruped": FOUR_LEGGED | {"wing": (2,)},
    "rigid parts, no skin": {"leg": (2, 4), "wing": (0, 2), "fin": (0,)},
    "bird": {"leg": (0, 2), "wing": (2,), "arm": (0,), "fin": (0,)},
    "bird (blocky)": {"leg": (2,), "arm": (0,), "fin": (0,)},
    "flying monster": {"leg": (0,), "wing": (2,), "arm": (0,), "fin": (0,)},
    "small monster, two feet": {"leg": (2,), "wing": (0,), "fin": (0,)},
    "fish": {"leg": (0,), "arm": (0,), "wing": (0,), "fin": (0, 2, 4, 6)},
    "snake": LIMBLESS,
    "tentacle": LIMBLESS,
    "slime": {"leg": (0,), "wing": (0,), "fin": (0,)},
    "spider": {"leg": (8,), "wing": (0,), "fin": (0,)},
}
NO_BONES: dict[str, Counts] = {
    "q_cute": {"leg": (0,), "arm": (0,)},
    "q_cube_hedgehog": {"leg": (0,)},
}
"""Files, by the beginning of their name or family, without any bone for the limbs that their kind has (looked at one by one):
a label needs a bone, so none is the right answer. The small monsters are a body, a mouth and two eyebrows."""


@dataclass(frozen=True)
class LabelSettings:
    """Which characters to label."""

    assets: Path = Path("../shared/motions")
    """The folder with ``glb/index.json``."""
    part: Literal["train", "test", "all"] = "train"
    sheet: Path | None = None
    """Also draw the characters that disagree, limbs coloured by kind."""


@dataclass(frozen=True)
class Labelled:
    """One character, and whether its labels agree with what it is."""

    name: str
    kind: str
    rig: Rig
    seconds: float
    by_kind: bool
    """They agree with the kind alone."""
    by_bones: bool
    """They agree with the kind as far as the file has bones for it."""

    @property
    def counts(self) -> str:
        found = Counter(limb.kind for limb in self.rig.skeleton.limbs if limb.kind not in ("spine", "neck", "head"))
        return ", ".join(f"{number} {kind}" for kind, number in found.items()) or "none"


def agrees(rig: Rig, kind: str, expected: Counts) -> bool:
    """Whether a rig has as many limbs of each kind as expected; a fish needs a fin or a tail as well."""
    number = lambda wanted: len(rig.skeleton.limbs_of(wanted))  # noqa: E731
    if kind == "fish" and number("fin") + number("tail") == 0:
        return False
    return all(number(limb) in allowed for limb, allowed in expected.items())


def label(entry: dict, folder: Path) -> Labelled:
    """Load a character of the index and compare."""
    start = perf_counter()
    rig = load_rig(folder / entry["file"])
    kind, expected = entry["kind"], EXPECTED[entry["kind"]]
    without = next((counts for name, counts in NO_BONES.items() if name in (entry["family"], Path(entry["file"]).stem)), {})
    return Labelled(
        Path(entry["file"]).stem,
        kind,
        rig,
        perf_counter() - start,
        agrees(rig, kind, expected),
        agrees(rig, kind, expected | without),
    )


def main(settings: LabelSettings) -> None:
    """Print the table and draw what disagrees."""
    index = json.loads((settings.assets / "glb/index.json").read_text())
    found = [label(entry, settings.assets) for entry in index if settings.part in ("all", entry["part"])]
    table = Table("character", "kind", "limbs", "seconds", "kind", "bones", title=f"limb labels, part {settings.part}")
    for x in found:
        table.add_row(x.name, x.kind, x.counts, f"{x.seconds:.2f}", *("yes" if y else "NO" for y in (x.by_kind, x.by_bones)))
    console = Console()
    console.print(table)
    by_kind, by_bones = sum(x.by_kind for x in found), sum(x.by_bones for x in found)
    console.print(f"{by_kind} of {len(found)} agree with their kind, {by_bones} as far as the file has bones for it.")
    wrong = [x for x in found if not x.by_bones]
    if settings.sheet and wrong:
        sheet([(f"{x.name}: {x.counts}", _colored(x.rig)) for x in wrong], 4, 280).save(settings.sheet)


def _colored(rig: Rig):
    """The mesh in the colours of its limbs."""
    colors = np.zeros((rig.skeleton.joint_count, 3))
    for limb in rig.skeleton.limbs:
        colors[list(limb.joints)] = limb_color(limb)
    return replace(rig.mesh, colors=rig.weights @ colors, uv=None, materials=(), face_material=np.zeros(0, int))


if __name__ == "__main__":
    main(tyro.cli(LabelSettings))
