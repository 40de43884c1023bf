"""What somebody asked for, and how it becomes a task: character, sentences, prior."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from akd.distill.prompts import expand, negative_prompts
from akd.distill.recipe import Recipe
from akd.distill.task import Task
from akd.errors import AkdError
from akd.prior.prior import VideoPrior
from akd.rig import Rig

SMALL = {"a", "an", "the", "is", "of", "and"}
"""Words that a name does without."""
LONGEST = 60.0
"""Clips are at most this long [s]; the prior sees about a second at a time."""


@dataclass(frozen=True)
class Job:
    """Everything that decides the motion: the same job gives the same bytes."""

    prompt: str
    character: str | None = None
    """A file; without one, the character is made from the prompt."""
    fingerprint: str = ""
    """Of that file, so that a run is not continued on another character."""
    prior: str = "embedded"
    seconds: float = 3.0
    loop: bool = False
    """The clip is a whole number of rounds, as near to ``seconds`` as that goes."""
    in_place: bool = False
    """The written clip does not travel; motion.npz does."""
    seed: int = 0
    individual: int = 0
    """Seed of a character that is made from the prompt."""
    expand: bool = True
    """Say a short prompt in the words the prior was trained on."""
    track: bool = False
    """Put the motion on the ground by physics, too."""
    forward: str | None = None
    height: float | None = None
    recipe: Recipe = field(default_factory=Recipe)

    def __post_init__(self) -> None:
        if not self.prompt.strip():
            raise AkdError('Say what the character does, as in: akd animate "a brown dog walking".')
        if not 0 < self.seconds <= LONGEST:
            raise AkdError(f"A clip takes up to {LONGEST:g} seconds, not {self.seconds:g}: choose --seconds in between.")

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Job":
        """What ``as_dict`` gave; entries of another version of akd are refused by name."""
        known, parts = {entry.name for entry in fields(cls)}, {entry.name for entry in fields(Recipe)}
        alien = [*(set(values) - known), *(set(values["recipe"]) - parts)]
        if alien:
            raise AkdError(f"The run was begun by another version of akd (it says {sorted(alien)[0]!r}): begin it anew.")
        recipe: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in values["recipe"].items()
        }
        return cls(**{**values, "recipe": Recipe(**recipe)})

    @property
    def name(self) -> str:
        """The prompt as the name of a folder or a clip: "a fox walking" → "fox-walking"."""
        kept = [word for word in re.findall(r"[a-z0-9]+", self.prompt.lower()) if word not in SMALL]
        return "-".join(kept)[:60].strip("-") or "run"

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is prompt, then what the motion is led away from."""
        return (expand(self.prompt) if self.expand else self.prompt), *negative_prompts(self.prompt)


def fingerprint(path: Path) -> str:
    """A short word for the bytes of a file."""
    if not path.is_file():
        raise AkdError(f"There is no file {path}.")
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def read_character(job: Job) -> Rig:
    """The user's own rig, or a rig for the user's mesh, or a character made from the prompt."""
    if job.character is None:
        from akd.creatures.words import character

        return character(job.prompt, job.individual)[0]
    from akd.assets import load_rig, read_file
    from akd.rigging.rig_file import rig_file

    path = Path(job.character)
    if job.fingerprint and fingerprint(path) != job.fingerprint:
        raise AkdError(f"{path} has changed since the run began: begin a new one, or bring the old file back.")
    file = read_file(path)
    make = load_rig if file.names and file.weights.any() else rig_file
    return make(path, forward=job.forward, height=job.height)


def check_prior(job: Job, prior: VideoPrior) -> None:
    """Refuse what the prior cannot read or take before anything is computed."""
    for sentence in job.sentences:
        prior.check_sentence(sentence)
    prior.check_film(prior.film.frames, prior.film.height, prior.film.width)


def make_task(job: Job, prior: VideoPrior, rig: Rig) -> Task:
    """The task behind a job."""
    from akd.reconstruct.skinned import skinned_splats

    skinned = skinned_splats(rig, resolution=max(prior.film.width, prior.film.height))
    prompt, *others = job.sentences
    task = Task(rig, skinned, prior, prompt, tuple(others), job.recipe, job.seconds, job.seed)
    # What the prior sees must exist: a clip shorter than its film is found as long as that, and cut.
    return replace(task, seconds=max(job.seconds, task.film_seconds))
