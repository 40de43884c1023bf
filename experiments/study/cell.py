"""One cell of an experiment: which arm, on whom, with which words and seed."""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from akd.distill.recipe import Recipe
from akd.measure.success import TaskName

PriorKind = Literal["given", "weaker", "silent", "random"]
"""The prior as given; an earlier state of it; one that is content with everything; one with random weights."""
Mover = Literal["skeleton", "field", "artist"]
"""What moves the character: joints, a deformation field, or the clip its file came with."""


@dataclass(frozen=True)
class Trial:
    """One run of an experiment."""

    arm: str
    character: str
    """``plan:seed`` for a creature of our own, else a file below the folder of assets."""
    wish: TaskName
    """What the motion is tested for."""
    prompt: str
    """What the prior is told, which in a control is something else."""
    seed: int
    recipe: Recipe = field(default_factory=Recipe)
    prior: PriorKind = "given"
    mover: Mover = "skeleton"
    ground: bool = True
    """Is there ground in the film?"""
    limit: int | None = None
    """Iterations after which it is stopped although its recipe goes on: what is not reached by then is censored."""

    @property
    def key(self) -> str:
        """A name for its row and its folder; another recipe is another cell."""
        said = json.dumps(asdict(self), sort_keys=True)
        who = self.character.replace("/", "-").replace(":", "-").replace("#", "-").rsplit(".", 1)[0]
        name = "-".join((self.arm.replace(" ", "_"), who, self.wish, str(self.seed)))
        return f"{name}-{hashlib.sha256(said.encode()).hexdigest()[:8]}"

    @property
    def iterations(self) -> int:
        """How many are made."""
        return min(self.recipe.iterations, self.limit or self.recipe.iterations)

    def labels(self) -> dict[str, Any]:
        """What identifies its row."""
        return {"key": self.key, "arm": self.arm, "character": self.character, "wish": self.wish, "seed": self.seed}
