"""What somebody asked for, as one value with a JSON form, and how its work reports on itself."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from akd.assets import check_height, check_seed, fingerprint
from akd.creatures.wish import THEN, read_wish
from akd.creatures.words import character
from akd.distill.prompts import expand, negative_prompts
from akd.distill.recipe import Recipe
from akd.distill.task import Task
from akd.errors import AkdError
from akd.garbage import collection_paused
from akd.measure.evaluation import Evaluation
from akd.prior.hardware import Dtype, Hardware, Offload, Quantize
from akd.prior.prior import VideoPrior
from akd.reconstruct.skinned import film_splats
from akd.render.rasterize import film_device
from akd.rig import Rig
from akd.rigging.rig_file import load_or_rig

NAME_LENGTH = 60
"""Letters of a folder's name at most."""
UNNAMED_WORDS = {"a", "an", "the", "is", "of", "and"}
"""Words that are left out of a folder's name."""
LONGEST_CLIP = 60.0
"""[s]; the prior sees a few seconds at a time."""
MAX_PROMPT = 2000
"""Letters; no prior reads more."""
Via = Literal["distillation", "video"]
"""How a motion is had from a prior: by its score, or by following a clip that it makes of the character."""
SAMPLING = Recipe(denoising_steps=25, guidance=4.0)
"""Steps and guidance of a clip that is followed; the rest of a recipe has no say there."""


@dataclass(frozen=True)
class Job:
    """Everything that decides the motion: the same job gives the same bytes."""

    prompt: str
    character: str | None = None
    """A file; without one, the character is made from the prompt."""
    fingerprint: str = ""
    """Of that file, so that a run is not continued on another character."""
    prior: str = "embedded"
    device: str = "auto"
    """Where the prior computes, and how (see ``Hardware``); a run's config.json has what was chosen."""
    dtype: Dtype = "auto"
    offload: Offload = "auto"
    film: str | None = None
    quantize: Quantize = "auto"
    gguf: str | None = None
    lora: str | None = None
    spread: bool = False
    compile: bool = False
    attention: str | None = None
    seconds: float = 3.0
    loop: bool = False
    """The clip is a whole number of cycles, as near to ``seconds`` as that goes."""
    in_place: bool = False
    """The written clip does not travel; motion.npz does."""
    seed: int = 0
    individual: int = 0
    """Seed of a character that is made from the prompt."""
    expand: bool = True
    """Say a short prompt in the words of the prior's training captions, where the prior has such."""
    scene: bool = False
    """Add the view and ground of our films to a big model's prompt."""
    track: bool = False
    """Track the motion in a physics simulation, too."""
    forward: str | None = None
    height: float | None = None
    """Of the character [m], if the file's units are wrong."""
    recipe: Recipe = field(default_factory=Recipe)
    via: Via = "distillation"

    def __post_init__(self) -> None:
        if not self.prompt.strip():
            raise AkdError('Say what the character does, as in: akd animate "a brown dog walking".')
        if len(self.prompt) > MAX_PROMPT:
            raise AkdError(f"The sentence has {len(self.prompt)} letters; say it in at most {MAX_PROMPT}.")
        if not 0 < self.seconds <= LONGEST_CLIP:
            raise AkdError(f"A clip takes up to {LONGEST_CLIP:g} seconds, not {self.seconds:g}: choose --seconds in between.")
        refuse_two_actions(self.prompt)
        if self.prompt.encode(errors="replace").decode() != self.prompt:
            raise AkdError("The sentence has bytes in it that are no text: type it again.")
        check_height(self.height)
        self.hardware  # noqa: B018 - refuses what is no device and no film
        check_seed(self.seed)
        check_seed(self.individual)

    @property
    def hardware(self) -> Hardware:
        """Where the prior computes."""
        return Hardware(**{entry.name: getattr(self, entry.name) for entry in fields(Hardware)})

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Job":
        """What ``as_dict`` gave; entries of another version of akd are refused by name, damaged ones by their value."""
        known = {entry.name for entry in fields(cls)}
        unknown = sorted(set(values) - known)
        if unknown:
            raise AkdError(f"The run was begun by another version of akd (it says {unknown[0]!r}): begin it anew.")
        recipe = values.get("recipe", {})
        if not isinstance(values.get("prompt"), str) or not isinstance(recipe, Mapping):
            raise AkdError("It does not say what the character does.")
        plain = {name: value for name, value in values.items() if name != "recipe"}
        check_types(cls, plain)
        try:
            known_recipe = Recipe.from_dict(dict(recipe))
        except (TypeError, ValueError) as error:
            raise AkdError(f"Its recipe cannot be used ({error}).") from error
        check_types(Recipe, vars(known_recipe))
        return cls(**plain, recipe=known_recipe)

    @property
    def name(self) -> str:
        """The prompt as the name of a folder or a clip: "a fox walking" → "fox-walking"."""
        kept = [word for word in re.findall(r"[a-z0-9]+", self.prompt.lower()) if word not in UNNAMED_WORDS]
        return "-".join(kept)[:NAME_LENGTH].strip("-") or "run"


def refuse_two_actions(prompt: str) -> None:
    """One clip shows one action: a sentence that names a second one is two clips."""
    if THEN.search(prompt.lower()) and (then := read_wish(prompt).then):
        first, second = (text.strip(" ,;.") for text in THEN.split(prompt, maxsplit=1))
        raise AkdError(
            f"One clip shows one action, and {second!r} comes after {first!r}: make a clip of each, as in"
            f' akd animate FILE "{first}" "{then.noun or "it"} {second}" --one-file.'
        )


def check_types(cls: type, values: Mapping[str, Any]) -> None:
    """Refuse entries of a JSON object that do not have the types of a dataclass's fields."""
    hints = _hints(cls)
    for name, value in values.items():
        if not _fits(value, hints[name]):
            raise AkdError(f"Its entry {name!r} is {str(value)[:40]!r}.")


_hints = cache(get_type_hints)  # resolving them takes longer than comparing


def _fits(value: object, hint: Any) -> bool:
    """Does a JSON value have a type? Whole numbers are numbers; yes and no are not."""
    parts = get_args(hint)
    if get_origin(hint) is Literal:
        return value in parts
    if get_origin(hint) is tuple:
        each = parts[:1] * len(value) if isinstance(value, tuple) and parts[-1] is Ellipsis else parts
        return isinstance(value, tuple) and len(value) == len(each) and all(map(_fits, value, each))
    if parts:
        return any(_fits(value, part) for part in parts)
    if hint is float:
        return type(value) is int or (isinstance(value, float) and math.isfinite(value))
    return type(value) is hint


def read_character(job: Job) -> Rig:
    """The user's own rig, or a rig for the user's mesh, or a character made from the prompt."""
    if job.character is None:
        with collection_paused():  # the first compiled kernels are loaded here
            return character(job.prompt, job.individual)[0]
    path = Path(job.character)
    if job.fingerprint and fingerprint(path) != job.fingerprint:
        raise AkdError(f"{path} has changed since the run began: begin a new one, or bring the old file back.")
    return load_or_rig(path, forward=job.forward, height=job.height)


def sentences(job: Job, prior: VideoPrior) -> tuple[str, tuple[str, ...]]:
    """The prompt as the prior reads it, and the negative prompts."""
    if not prior.trained_on_captions:  # big models have read everything: the user's own words are best
        seen = prior.scene.replace("{}", f"{job.prompt.rstrip('. ')}.") if job.scene else job.prompt
        return seen, (prior.negative_prompt,)
    told = prior.known_modifiers or ()
    return expand(job.prompt, prior.known_actions, told) if job.expand else job.prompt, negative_prompts(job.prompt)


def check_prior(job: Job, prior: VideoPrior) -> None:
    """Refuse what the prior cannot read or take before anything is computed."""
    prompt, negative = sentences(job, prior)
    for sentence in filter(None, (prompt, *negative)):
        prior.check_sentence(sentence)
    prior.check_film(prior.film.frames, prior.film.height, prior.film.width)


def make_task(job: Job, prior: VideoPrior, rig: Rig) -> Task:
    """The task behind a job."""
    skinned = film_splats(rig, prior.film, mode=job.recipe.splats).to(film_device(prior.device))
    prompt, negative = sentences(job, prior)
    wish = read_wish(job.prompt)
    return Task(rig, skinned, prior, prompt, negative, job.recipe, job.seconds, job.seed, job.loop, wish)


class Progress:
    """Hears how a run proceeds; this one does nothing with it."""

    def stage(self, what: str) -> None:
        """Something else than iterations begins."""

    def notice(self, sentence: str) -> None:
        """Something that the user should know."""

    def prepared(self, job: Job, task: Task, done: int) -> None:
        """Iterations begin; ``done`` of them are done already."""

    def iteration(self, numbers: dict[str, float], measured: Evaluation | None) -> None:
        """One iteration is over; now and then, the motion was measured."""

    def items(self, items: Iterable, count: int, what: str) -> Iterable:
        """Passes on items (frames that are drawn, steps of a search) while they are worked on."""
        return items
