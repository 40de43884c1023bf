"""The table of actions: sentence × body × seed, each judged by both judges and the gates of contact.

``python -m experiments.study actions --assets FOLDER --motions FOLDER`` is resumable like every study: a row is on disk as
soon as it is known, and a trial that was killed goes on at its checkpoint.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from akd.creatures.wish import read_wish
from akd.distill.recipe import Recipe
from akd.measure.asked import asked_of
from akd.training.data_card import FIRST_HELD_OUT_SEED
from experiments.study.rows import Row

Group = Literal["people", "four-legged", "others", "tried"]
SENTENCES: dict[str, tuple[str, ...]] = {
    "people": (
        "walking", "running", "jumping", "kicking", "punching", "waving with the left hand", "waving with the right hand",
        "sitting down", "standing up", "dancing", "throwing a ball", "picking something up", "falling", "bowing",
        "turning around", "crouching", "limping",
    ),
    "four-legged": ("walking", "galloping", "jumping", "eating", "attacking", "dying"),
    "tried on people": ("doing a cartwheel", "doing a handstand"),
    "tried on four legs": ("sitting down", "lying down", "looking around"),
}  # fmt: skip
"""What bodies are asked to do; those that are only tried are outside the aim."""
GAITS = ("walk", "run")
"""Actions that are not counted in the aim."""
PEOPLE = {
    "human": "human", "robot": "assets:robot_expressive/RobotExpressive.glb", "man": "assets:cesium_man/CesiumMan.glb",
    "woman": "assets:q_woman/Smooth_Female_Casual.glb", "knight": "assets:kaykit_knight/Knight.glb",
    "wizard": "motions:glb/q_cube_wizard.glb", "witch": "motions:glb/q_char_witch.glb",
}  # fmt: skip
FOUR_LEGGED = {
    "dog": "dog", "horse": "horse", "bear": "bear", "fox": "assets:fox_khronos/Fox.glb", "wolf": "assets:q_wolf/Wolf.glb",
    "husky": "assets:q_husky/Husky.glb", "donkey": "motions:glb/q_donkey.glb", "llama": "motions:glb/q_farm_llama.glb",
}  # fmt: skip
OTHERS = {
    "bird": ("bird", ("flying",)), "dragon": ("assets:q_dragon/Dragon.glb", ("flying",)), "fish": ("fish", ("swimming",)),
    "snake": ("snake", ("slithering",)), "spider": ("spider", ("walking", "attacking")),
    "tyrannosaur": ("assets:q_trex/Trex.glb", ("walking", "attacking")),
}  # fmt: skip
"""Bodies by what a sentence calls them: a plan, of which every seed is another held-out individual, or a file."""


@dataclass(frozen=True)
class ActionTrial:
    """One sentence on one body."""

    group: Group
    body: str
    """``plan:seed``, or ``assets:FILE`` or ``motions:FILE`` below the folder of that name."""
    prompt: str
    seed: int
    recipe: Recipe = field(default_factory=Recipe)
    told: str = ""
    """The control "swap": the prior is told this instead, while reader and candidates are told ``prompt``."""

    @property
    def key(self) -> str:
        digest = hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:8]
        return "-".join((*self.prompt.split(), str(self.seed), digest)).lower()

    def labels(self) -> dict[str, Any]:
        names = ("key", "group", "body", "prompt", "seed", "told")
        return {name: getattr(self, name) for name in names}


def action_trials(recipe: Recipe, seeds: int) -> list[ActionTrial]:
    """All cells, one seed after the other; after them what is only tried, and the swaps."""
    trials = []
    for seed in range(seeds):
        for group, bodies, tried in (("people", PEOPLE, "tried on people"), ("four-legged", FOUR_LEGGED, "tried on four legs")):
            for noun, body in bodies.items():
                for kind, sentences in ((group, SENTENCES[group]), ("tried", SENTENCES[tried])):
                    for words in sentences:
                        trials.append(ActionTrial(kind, _body(body, seed), f"a {noun} {words}", seed, recipe))  # type: ignore[arg-type]
        for noun, (body, sentences) in OTHERS.items():
            trials += [ActionTrial("others", _body(body, seed), f"a {noun} {words}", seed, recipe) for words in sentences]
    return sorted(trials, key=lambda trial: (trial.seed, trial.group == "tried"))


def swaps(recipe: Recipe, seeds: int) -> list[ActionTrial]:
    """Controls: reader and order of candidates hear of one action, the prior of another. The result must be the prior's."""
    pairs = (("waving", "kicking"), ("sitting down", "waving"), ("walking", "punching"))
    return [
        ActionTrial("tried", _body("human", seed), f"a human {heard}", seed, recipe, told=f"a human {told}")
        for seed in range(seeds) for heard, told in pairs
    ]  # fmt: skip


def _body(body: str, seed: int) -> str:
    return body if ":" in body else f"{body}:{FIRST_HELD_OUT_SEED + seed}"


def judged_sentence(trial: ActionTrial) -> str:
    """What the motion should show: what the prior was told."""
    return trial.told or trial.prompt


def is_counted(row: Row) -> bool:
    """Does a row count for the aim?"""
    asked = asked_of(row["prompt"])
    return row["group"] in ("people", "four-legged") and (asked is None or asked.action not in GAITS)


def action_tables(rows: Iterable[Row]) -> dict[str, list[dict[str, str]]]:
    """How many are as asked: by group, by action of each group, and every row."""
    rows = list(rows)
    by_action: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        wish = read_wish(row["told"] or row["prompt"])
        name = f"{wish.action or wish.said} {wish.side}".strip().replace("_", " ")
        by_action[row["group"], f"swap: {name}" if row["told"] else name].append(row)
    counted = {group: [row for row in rows if row["group"] == group and is_counted(row)] for group in ("people", "four-legged")}
    return {
        "As asked, walk and run not counted": [{"group": group, **_counts(part)} for group, part in counted.items() if part],
        "By action": [{"group": group, "action": action, **_counts(part)} for (group, action), part in by_action.items()],
        "Every motion": [_line(row) for row in rows],
    }


def _counts(rows: list[Row]) -> dict[str, str]:
    def share(name: str) -> str:
        return f"{sum(bool(row[name]) for row in rows)} of {len(rows)}"

    return {"as asked": share("success"), "contact": share("contact"), "by the eye's test": share("eye")}


def _line(row: Row) -> dict[str, str]:
    looks = row["looks_like"] or {}
    return {
        "sentence": row["prompt"] + (f" (told: {row['told']})" if row["told"] else ""), "seed": str(row["seed"]),
        "verdict": str(row["verdict"]), "looks like": f"{looks.get('action', '–')} ({looks.get('probability', 0):.2f})",
        "check": {True: "yes", False: "no", None: "–"}[row["check"]], "structure": row["structure"],
        "skating": "–" if row["skating"] is None else f"{row['skating']:.2f}", "deepest": f"{row['deepest']:.3f}",
        "evaluations": str(row["spent"]["evaluations"]), "seconds": f"{row['spent']['seconds']:.0f}",
    }  # fmt: skip
