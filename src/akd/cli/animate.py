"""The main command: a character and a sentence in, an animation out."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from akd.cli.console import PLAIN, Facing, Height, console, is_file
from akd.errors import AkdError
from akd.files.writing import check_output, refuse_inputs, safe_name
from akd.garbage import collection_paused
from akd.prior.folder import EMBEDDED, EMBEDDED_FOLDERS
from akd.prior.hardware import Hardware

if TYPE_CHECKING:
    from akd.distill.recipe import Recipe
    from akd.pipeline.job import Job, Progress


def animate(
    words: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[CHARACTER] PROMPT …")] = (),
    /,
    *,
    prior: str | None = None,
    hardware: tyro.conf.OmitArgPrefixes[Hardware] = Hardware(),  # noqa: B008
    seconds: float = 3.0,
    loop: bool = False,
    in_place: bool = False,
    seed: int = 0,
    n: int = 1,
    track: bool = False,
    expand: bool = True,
    scene: bool = False,
    via: Literal["distillation", "video"] = "distillation",
    recipe: Literal["default", "looks", "quick", "paper", "big"] = "default",
    estimator: str | None = None,
    iterations: int | None = None,
    draws: int | None = None,
    guidance: float | None = None,
    denoising_steps: int | None = None,
    learning_rate: float | None = None,
    export: Literal["glb", "fbx", "usdz", "bvh"] | None = None,
    one_file: bool = False,
    tensorboard: Path | None = None,
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
        akd animate fox.glb walking jumping --one-file --export fbx
        akd animate fox.glb "a fox walking" --via video --prior Wan-AI/Wan2.2-TI2V-5B-Diffusers --n 4
        akd animate --resume runs/fox-walking

    Args:
        words: A character's file, if you have one, and what it does.
        prior: The video model: embedded (gaits), embedded-actions (everything else), a folder, or a name on the hub. By default
            one of the embedded ones, by the action that the sentence names.
        seconds: Length of the clip.
        loop: Make the ends of the clip meet.
        in_place: Write the clip without its travel over the ground.
        seed: Another seed, another motion.
        n: Number of motions, with seeds from --seed on, each in a folder of its own; with --via video best followed first.
        track: Also track the motion in a physics simulation; both are kept.
        expand: Say the prompt in the words of the prior's training captions, where it has such; --no-expand leaves it alone.
        scene: Add to the prompt how our films look (view, ground, camera), in a big model's wording: they know longer captions.
        via: distillation; video lets the prior make a clip of the character and follows it, which needs an image-to-video model.
        recipe: default, which is looks for embedded-actions; quick and looks take few looks at finished films; big is for large
            models; paper takes hours.
        estimator: Gradient estimator instead of the recipe's; a wrong name lists all.
        iterations: Number of iterations instead of the recipe's.
        draws: Noise samples per film instead of the recipe's.
        guidance: Classifier-free guidance instead of the recipe's: how much the sentence counts.
        denoising_steps: Steps of each look instead of the recipe's; models distilled to few steps take 3 to 8, with --guidance 1.
        learning_rate: Learning rate instead of the recipe's.
        export: Also write the character with its clip in this format, as animated.fbx and so on; see akd convert for more.
        one_file: Make a motion for each of several sentences, and one file with all of them.
        tensorboard: Also write curves of every iteration for TensorBoard, into this folder.
        out: The folder to write to; by default named after the sentence, under runs/.
        resume: Go on with this run's folder; all other settings are those it began with.
        force: Overwrite a run that exists.
    """
    if resume is None and prior is not None and prior not in EMBEDDED_FOLDERS and not Path(prior).is_dir():
        from akd.prior.folder import locate

        locate(prior)  # a model that cannot be had is said before seconds of imports

    with collection_paused(keep=True):
        from akd.cli.progress import RunProgress
        from akd.pipeline.export_runs import export_runs
        from akd.pipeline.runs import begin_runs, difference, resume_runs

    screen = console()
    try:
        if resume is not None:
            if words:
                raise AkdError(f"--resume goes on with what {resume} was asked for: leave {words[-1]!r} out.")
            with RunProgress(screen) as progress:
                runs = resume_runs(resume, _listener(progress, tensorboard))
        else:
            own = {
                "estimator": estimator, "iterations": iterations, "draws": draws, "guidance": guidance,
                "denoising_steps": denoising_steps, "learning_rate": learning_rate,
            }  # fmt: skip
            options: dict[str, Any] = {
                "prior": prior, **vars(hardware), "seconds": seconds, "loop": loop, "in_place": in_place, "seed": seed,
                "track": track, "expand": expand, "scene": scene, "forward": forward, "height": height,
                "recipe": recipe, "changes": own, "via": via,
            }  # fmt: skip
            if one_file:
                _one_file(words, out, export or "glb", options, n=n, force=force, tensorboard=tensorboard)
                return
            job = _job(words, **options)
            resume = out or Path("runs") / job.name
            if job.character is not None:
                refuse_inputs([resume / f"animated.{export}"], [Path(job.character)])  # now, not when all is computed
            with RunProgress(screen) as progress:
                runs = begin_runs(resume, job, n, _listener(progress, tensorboard), force=force)
    except KeyboardInterrupt:
        if resume is not None and (resume / "config.json").is_file():
            screen.print(f"Stopped; what was done is kept. Go on with: akd animate --resume {resume}", **PLAIN)
        raise
    for run in runs:
        screen.print(f"Wrote {run.path}: animated.glb, preview.mp4, report.html, motion.npz", **PLAIN)
        screen.print(run.result()["sentence"], style="bold", **PLAIN)
        if export is not None and export != "glb":
            screen.print(f"Wrote {export_runs([run], run.path / f'animated.{export}', force=True)}", **PLAIN)
    apart = difference(resume)
    if apart is not None:
        screen.print(f"The motions' joints are {apart:.2g} ℓ apart on average; see {resume / 'strips.png'}.", **PLAIN)


def _listener(progress: "Progress", tensorboard: Path | None) -> "Progress":
    """Who hears of a run's iterations."""
    if tensorboard is None:
        return progress
    from akd.pipeline.curves import TensorBoardProgress

    return TensorBoardProgress(progress, tensorboard)


def _one_file(
    words: tuple[str, ...], out: Path | None, ending: str, options: dict[str, Any],
    *, n: int, force: bool, tensorboard: Path | None,
) -> None:  # fmt: skip
    """A run for each sentence, and a file with all of their clips; what an earlier attempt has done is kept."""
    from akd.cli.progress import RunProgress
    from akd.pipeline.export_runs import export_runs, runs_for

    if len(words) < 2 or n != 1 or ending == "bvh":
        raise AkdError('--one-file takes a file and sentences, and no .bvh: akd animate fox.glb "walking" "jumping" --one-file.')
    jobs = [_job((words[0], sentence), **options) for sentence in words[1:]]
    folder = out or Path("runs") / safe_name(Path(words[0]).stem)
    path = folder / f"animated.{ending}"
    check_output(path, force=force or any(folder.glob("*/config.json")), source=Path(words[0]))  # an earlier attempt's is ours
    screen = console()
    with RunProgress(screen) as progress:
        runs = runs_for(folder, jobs, _listener(progress, tensorboard), force=force)
    for run in runs:
        screen.print(f"{run.path}: {run.result()['sentence']}", style="bold", **PLAIN)
    screen.print(f"Wrote {export_runs(runs, path, force=True)}: {len(runs)} clips.", **PLAIN)


def _job(words: tuple[str, ...], **options: Any) -> "Job":
    from akd.pipeline.job import Job

    if len(words) not in (1, 2):
        raise AkdError('Give a sentence, or a file and a sentence, as in: akd animate fox.glb "a fox walking".')
    *files, prompt = words
    options = _chosen(prompt, **options)
    if not files:
        if is_file(prompt):
            raise AkdError(f'Say what {prompt} should do, as in: akd animate {prompt} "a fox walking".')
        return Job(prompt, individual=options["seed"], **options)
    path = Path(files[0])
    if not is_file(files[0]):
        raise AkdError(f"There is no file {path}.")
    return Job(prompt, str(path.resolve()), **options)


def _chosen(
    prompt: str, *, prior: str | None, recipe: str, changes: dict[str, Any], loop: bool, via: str, **options: Any
) -> dict[str, Any]:
    """The options of a job, with the prior and the recipe that go with the sentence where the user named none."""
    from akd.pipeline.choice import embedded_for

    named = prior or (EMBEDDED if via == "video" else embedded_for(prompt))
    return {**options, "prior": named, "recipe": _recipe(recipe, named, loop, changes, via), "loop": loop, "via": via}


def _recipe(name: str, prior: str, loop: bool, own: dict[str, Any], via: str) -> "Recipe":
    from akd.distill.recipe import RECIPES
    from akd.pipeline.choice import recipe_name
    from akd.pipeline.job import SAMPLING

    if via == "video":
        return _sampling(SAMPLING, name, own)
    changes: dict[str, Any] = {key: value for key, value in own.items() if value is not None}
    chosen = RECIPES[recipe_name(name, prior)]
    if loop and chosen.curves == "frames":
        changes["curves"] = "fourier"  # ends of free frames do not meet
    return replace(chosen, **changes)


def _sampling(base: "Recipe", name: str, own: dict[str, Any]) -> "Recipe":
    """Steps and guidance of a clip; what belongs to distillation is refused."""
    given = {key: value for key, value in own.items() if value is not None}
    other = ["recipe"] if name != "default" else [key for key in given if key not in ("denoising_steps", "guidance")]
    if other:
        option = other[0].replace("_", "-")
        raise AkdError(f"--{option} is for distillation, and --via video follows a clip: leave one of them out.")
    return replace(base, **given)
