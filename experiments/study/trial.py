"""One trial of a study: its arm, character, task, prompt and seed."""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from akd.distill.recipe import Recipe
from akd.measure.success import TaskName

PriorKind = Literal["given", "weaker", "silent", "random"]
"""The prior as given; an earlier checkpoint of it; one whose score is zero; one with random weights."""
Mover = Literal["skeleton", "field", "artist"]
"""What moves the character: joints, a deformation field, or the clip its file came with."""
NAMES_IN_KEYS = {
    "task": "wish", "denoising_steps": "look_ahead", "fit_steps": "steps_each", "t_annealed": "t_settled",
    "decide_at": "trial", "contact": "footing", "contact_from": "footing_from", "lock_feet": "plant",
    "coefficient_penalty": "restraint", "cycles_per_film": "strides_per_film",
}  # fmt: skip
"""Fields of a trial and its recipe under the names that keys on disk were made with: rows made before a rename still count."""
ESTIMATORS_IN_KEYS = {"vp_sds": "lively"}
"""The same for the names of estimators, in recipes and arms."""


@dataclass(frozen=True)
class Trial:
    """One run of a study."""

    arm: str
    character: str
    """``plan:seed`` for a creature of our own, else a file below the folder of assets."""
    task: TaskName
    """What the motion is tested for; "wish" in rows on disk."""
    prompt: str
    """What the prior is conditioned on, which in a control is something else."""
    seed: int
    recipe: Recipe = field(default_factory=Recipe)
    prior: PriorKind = "given"
    mover: Mover = "skeleton"
    ground: bool = True
    """Whether the film shows the ground."""
    limit: int | None = None
    """Iterations after which it is stopped although its recipe goes on: what is not reached by then is censored."""

    @property
    def key(self) -> str:
        """A name for its row and its folder; another recipe is another trial."""
        digest = hashlib.sha256(json.dumps(self.hashed(), sort_keys=True).encode()).hexdigest()[:8]
        character = self.character.replace("/", "-").replace(":", "-").replace("#", "-").rsplit(".", 1)[0]
        return "-".join((self.arm.replace(" ", "_"), character, self.task, str(self.seed), digest))

    def hashed(self) -> dict[str, Any]:
        """Everything that tells this trial from others, as it is hashed into ``key``."""
        values = {NAMES_IN_KEYS.get(name, name): value for name, value in asdict(self).items()}
        recipe = {NAMES_IN_KEYS.get(name, name): value for name, value in values["recipe"].items()}
        return values | {"recipe": recipe | {"estimator": ESTIMATORS_IN_KEYS.get(recipe["estimator"], recipe["estimator"])}}

    @property
    def iterations(self) -> int:
        """Iterations that are run."""
        return min(self.recipe.iterations, self.limit or self.recipe.iterations)

    def labels(self) -> dict[str, Any]:
        """The fields that identify its row."""
        return {"key": self.key, "arm": self.arm, "character": self.character, "wish": self.task, "seed": self.seed}
