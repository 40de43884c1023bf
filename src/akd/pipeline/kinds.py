"""The kinds of work that a folder can hold, each as values in and a folder with ``result.json`` out.

A batch, a page or another program makes a request from plain values, which checks them, and runs it in a folder; a run that was
killed is run again in the same folder and ends there with the same bytes. A new kind is one entry of ``KINDS``.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

from akd.assets import fingerprint
from akd.distill.recipe import RECIPES, Recipe
from akd.errors import AkdError
from akd.files.labels_json import label_path
from akd.pipeline.choice import embedded_for, recipe_name
from akd.pipeline.follow import FollowJob, begin_follow, resume_follow
from akd.pipeline.job import SAMPLING, Job, Progress, check_types
from akd.pipeline.motion_runs import PoseSample, Retarget, Rigging, Tracking
from akd.pipeline.runs import run
from akd.prior.folder import EMBEDDED
from akd.prior.hardware import Hardware
from akd.prior.load import load_prior
from akd.prior.prior import VideoPrior

NOT_ASKED = {"fingerprint", "recipe", "individual"}
"""Fields of ``Job`` that are no columns: found by us, or asked for by other names."""

PRIOR_FIELDS = ("prior", *(entry.name for entry in fields(Hardware)))
"""Fields of ``Job`` that say which prior is loaded, and how."""


@dataclass(frozen=True)
class Kind:
    """One kind of work."""

    columns: Mapping[str, Any]
    """What it may be asked, by name, with types."""
    required: frozenset[str]
    """Columns without a default."""
    make: Callable[..., Any]
    """The request of such values; an ``AkdError`` says what is wrong with them."""
    inputs: Callable[[Any], list[Path]]
    """The files that a request reads."""
    paths: frozenset[str]
    """Fields of a request that name those files: their content counts, not where they lie."""
    run: Callable[[Any, Path, VideoPrior | None, Progress], None]
    """Do it in a folder, or finish what was begun there; ``result.json`` comes last."""
    cost: Callable[[Any], float]
    """About how long it takes, in units that only compare requests [iterations of the default recipe]."""
    load: Callable[[Any], VideoPrior] | None = None
    """Loads the prior that a request needs; None for kinds that need none."""

    def request(self, values: Mapping[str, Any]) -> Any:
        """A checked request; entries that are not said have their defaults."""
        unknown = [name for name in values if name not in self.columns]
        if unknown:
            raise AkdError(f"There is no column {unknown[0]!r}; choose from {', '.join(self.columns)}.")
        return self.make(**values)

    def prior_key(self, request: Any) -> str | None:
        """Requests with the same key can share a loaded prior; None without one."""
        if self.load is None:
            return None
        return ", ".join(str(vars(request)[name]) for name in PRIOR_FIELDS if vars(request).get(name) is not None)

    def files(self, request: Any) -> list[Path]:
        """The files whose content decides the result: those that a request reads, and labels that correct them."""
        inputs = self.inputs(request)
        return inputs + [label_path(path) for path in inputs if label_path(path).is_file()]

    def identity(self, request: Any, prints: list[str]) -> dict[str, Any]:
        """Everything that decides the result: the values, and the fingerprints of ``files`` in place of their paths."""
        values = {name: value for name, value in vars(request).items() if name not in self.paths}
        return {name: vars(value) if isinstance(value, Recipe) else value for name, value in values.items()} | {"files": prints}


def animate_job(prompt: str = "", character: str | None = None, recipe: str = "default", **options: Any) -> Job:
    """A ``Job`` from the options of `akd animate`; entries of the recipe may be given one by one."""
    if recipe not in RECIPES:
        raise AkdError(f"There is no recipe {recipe!r}; choose {' or '.join(RECIPES)}.")
    if options.get("prior") is None:
        options["prior"] = EMBEDDED if options.get("via") == "video" else embedded_for(prompt)
    changes = {name: _frozen(options.pop(name)) for name in list(options) if name in RECIPE_COLUMNS}
    named = recipe_name(recipe, str(options["prior"]))
    if options.get("loop") and changes.get("curves", RECIPES[named].curves) == "frames":
        changes["curves"] = "fourier"  # ends of free frames do not meet
    try:
        chosen = _recipe(named if options.get("via") != "video" else None, tuple(sorted(changes.items())))
        if character is None:
            options["individual"] = options.get("seed", 0)
        check_types(Job, options)
    except (TypeError, ValueError) as error:
        raise AkdError(f"The values cannot be used ({error}).") from error
    return Job(prompt, None if character is None else _resolved(character), recipe=chosen, **options)


@cache
def _recipe(name: str | None, changes: tuple[tuple[str, Any], ...]) -> Recipe:
    made = replace(SAMPLING if name is None else RECIPES[name], **dict(changes))
    check_types(Recipe, vars(made))
    return made


@cache
def _resolved(path: str) -> str:
    return str(Path(path).resolve())


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _run_animation(job: Job, folder: Path, prior: VideoPrior | None, progress: Progress) -> None:
    if job.character is not None and not job.fingerprint:
        job = replace(job, fingerprint=fingerprint(Path(job.character)))
    run(job, folder, prior=prior, progress=progress)


def _iterations(job: Job) -> float:
    return job.recipe.iterations * (job.recipe.draws + 4) / 12 + job.seconds + (60.0 if job.track else 0.0)


def _plain(request: type, *paths: str, cost: float) -> Kind:
    """A kind whose request is a dataclass of its columns, with ``run`` and, if it reads files, ``inputs``."""
    return Kind(
        get_type_hints(request), frozenset(entry.name for entry in fields(request) if entry.default is MISSING), request,
        lambda asked: asked.inputs(), frozenset(paths),
        lambda asked, folder, prior, progress: asked.run(folder, progress), lambda asked: cost,
    )  # fmt: skip


def follow_job(character: str, clip: str, **options: Any) -> FollowJob:
    """A ``FollowJob`` from the options of `akd follow`."""
    try:
        check_types(FollowJob, options)
        given: dict[str, Any] = {
            name: _resolved(value) if name in ("first", "masks") and value else value for name, value in options.items()
        }
        return FollowJob(_resolved(character), _resolved(clip), **given)
    except (TypeError, ValueError) as error:
        raise AkdError(f"The values cannot be used ({error}).") from error


def _run_follow(job: FollowJob, folder: Path, prior: VideoPrior | None, progress: Progress) -> None:
    if (folder / "config.json").is_file():
        resume_follow(folder, progress)
    else:
        begin_follow(folder, job, progress, force=True)


def _follow_inputs(job: FollowJob) -> list[Path]:
    return [Path(job.character), Path(job.clip)] + ([Path(job.first)] if job.first else [])


RECIPE_COLUMNS = {entry.name: get_type_hints(Recipe)[entry.name] for entry in fields(Recipe)}
JOB_COLUMNS = {name: hint for name, hint in get_type_hints(Job).items() if name not in NOT_ASKED}
KINDS: dict[str, Kind] = {
    "animate": Kind(
        JOB_COLUMNS | {"recipe": str} | RECIPE_COLUMNS, frozenset({"prompt"}), animate_job,
        lambda job: [] if job.character is None else [Path(job.character)], frozenset({"character", "fingerprint"}),
        _run_animation, _iterations, lambda job: load_prior(job.prior, **vars(job.hardware)),
    ),
    "rig": _plain(Rigging, "character", "skeleton", cost=10.0),
    "track": _plain(Tracking, "clip", cost=60.0),
    "follow": Kind(
        {name: hint for name, hint in get_type_hints(FollowJob).items() if name not in NOT_ASKED},
        frozenset({"character", "clip"}), follow_job, _follow_inputs, frozenset({"character", "clip", "first", "fingerprint"}),
        _run_follow, lambda job: 120.0,
    ),
    "retarget": _plain(Retarget, "clip", "character", cost=5.0),
    "pose sample": _plain(PoseSample, "character", cost=10.0),
}  # fmt: skip
"""What can be asked for, by the name of its command."""

