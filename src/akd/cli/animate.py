"""The main command: a character and a sentence in, an animation out."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from akd.cli.console import PLAIN, Facing, Height, console, is_file
from akd.errors import AkdError
from akd.prior.hardware import Hardware

if TYPE_CHECKING:
    from akd.distill.recipe import Recipe
    from akd.pipeline.job import Job


def animate(
    words: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[CHARACTER] PROMPT")] = (),
    /,
    *,
    prior: str = "embedded",
    hardware: tyro.conf.OmitArgPrefixes[Hardware] = Hardware(),  # noqa: B008
    seconds: float = 3.0,
    loop: bool = False,
    in_place: bool = False,
    seed: int = 0,
    n: int = 1,
    track: bool = False,
    expand: bool = True,
    recipe: Literal["default", "paper", "big"] = "default",
    estimator: str | None = None,
    iterations: int | None = None,
    draws: int | None = None,
    guidance: float | None = None,
    learning_rate: float | None = None,
    plausible: float | None = None,
    out: Path | None = None,
    resume: Path | None = None,
    force: bool = False,
    forward: Facing = None,
    height: Height = None,
) -> None:
    """Animate a character by a sentence, with the knowledge of motion in a video diffusion model.

    The character is a rigged file (used as it is), a mesh (rigged automatically), or made from the sentence. Films of it are
    rated by the video model, and its joint angles are optimised until the film shows what the sentence says. A folder is
    written: animated.glb (your own file plus a clip), preview.mp4, report.html, motion.npz, settings and log. Stop it with
    Ctrl-C at any time and go on with --resume.

    Examples:
        akd animate "a brown dog running"
        akd animate fox.glb "a fox walking" --loop
        akd animate --resume runs/fox-walking

    Args:
        words: A character's file, if you have one, and what it does.
        prior: The video model: embedded, a folder, or a name on the hub.
        seconds: Length of the clip.
        loop: Make the ends of the clip meet.
        in_place: Write the clip without its travel over the ground.
        seed: Another seed, another motion.
        n: Number of motions, with seeds from --seed on, each in a folder of its own.
        track: Also track the motion in a physics simulation; both are kept.
        expand: Say the prompt in the words of the prior's training captions, where it has such; --no-expand leaves it alone.
        recipe: default is quick; big is for large models; paper is the published one and takes hours.
        estimator: Gradient estimator instead of the recipe's; a wrong name lists all.
        iterations: Number of iterations instead of the recipe's.
        draws: Noise samples per film instead of the recipe's.
        guidance: Classifier-free guidance instead of the recipe's: how much the sentence counts.
        learning_rate: Learning rate instead of the recipe's.
        plausible: Weight of the pose space, which knows plausible poses; 10000 is noticeable, none by default.
        out: The folder to write to; by default named after the sentence, under runs/.
        resume: Go on with this run's folder; all other settings are those it began with.
        force: Overwrite a run that exists.
    """
    from akd.cli.progress import RunProgress
    from akd.pipeline.runs import begin_runs, difference, resume_runs

    screen = console()
    try:
        if resume is not None:
            if words:
                raise AkdError(f"--resume goes on with what {resume} was asked for: leave {words[-1]!r} out.")
            with RunProgress(screen) as progress:
                runs = resume_runs(resume, progress)
        else:
            own = {
                "estimator": estimator, "iterations": iterations, "draws": draws, "guidance": guidance,
                "learning_rate": learning_rate, "plausible": plausible,
            }  # fmt: skip
            job = _job(
                words, prior=prior, **vars(hardware), seconds=seconds,
                loop=loop, in_place=in_place, seed=seed, track=track, expand=expand,
                forward=forward, height=height, recipe=_recipe(recipe, loop, own),
            )  # fmt: skip
            resume = out or Path("runs") / job.name
            with RunProgress(screen) as progress:
                runs = begin_runs(resume, job, n, progress, force=force)
    except KeyboardInterrupt:
        if resume is not None and (resume / "config.json").is_file():
            screen.print(f"Stopped; what was done is kept. Go on with: akd animate --resume {resume}", **PLAIN)
        raise
    for run in runs:
        screen.print(f"Wrote {run.path}: animated.glb, preview.mp4, report.html, motion.npz", **PLAIN)
        screen.print(run.result()["sentence"], style="bold", **PLAIN)
    apart = difference(resume)
    if apart is not None:
        screen.print(f"The motions' joints are {apart:.2g} ℓ apart on average; see {resume / 'strips.png'}.", **PLAIN)


def _job(words: tuple[str, ...], **options: Any) -> "Job":
    from akd.pipeline.job import Job

    if len(words) not in (1, 2):
        raise AkdError('Give a sentence, or a file and a sentence, as in: akd animate fox.glb "a fox walking".')
    *files, prompt = words
    if not files:
        if is_file(prompt):
            raise AkdError(f'Say what {prompt} should do, as in: akd animate {prompt} "a fox walking".')
        return Job(prompt, individual=options["seed"], **options)
    path = Path(files[0])
    if not is_file(files[0]):
        raise AkdError(f"There is no file {path}.")
    return Job(prompt, str(path.resolve()), **options)


def _recipe(name: str, loop: bool, own: dict[str, Any]) -> "Recipe":
    from akd.distill.recipe import RECIPES

    changes: dict[str, Any] = {key: value for key, value in own.items() if value is not None}
    if loop:
        changes["curves"] = "fourier"  # the only curves whose ends always meet
    return replace(RECIPES[name], **changes)
