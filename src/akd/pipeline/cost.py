"""What a run will cost: by its recipe before it begins, and by its first iterations as soon as they tell."""

from dataclasses import replace

from akd.distill.loop import PRUNED_TO, Distillation
from akd.distill.phases import PHASE_BINS
from akd.distill.recipe import RECIPES, Recipe
from akd.distill.task import COMPARISON_VIEWS
from akd.prior.info import PriorInfo
from akd.prior.tables import CARD_TERAFLOPS, ClipCost

LONG_RUN_SECONDS = 600.0
"""Shorter runs need no warning."""
FOUR_LEGGED_CANDIDATES = 4
"""Candidates that are begun on a body with legs and a left and right side (see ``assumptions``)."""
WARM_UP = 2
"""Iterations after which the rest is estimated; the first one also compiles and loads."""


def seconds_left(run: Distillation, seconds: float, candidates: int) -> float:
    """Expected time of the iterations that are left, from one that had so many candidates; candidates become one on the way."""
    return seconds / candidates * _films(run.task.recipe, len(run.candidates), run.iteration)


def _films(recipe: Recipe, candidates: int, done: int = 0) -> int:
    """Films of all candidates in the iterations that are left."""
    films = 0
    for until, count in ((recipe.prune_at, candidates), (recipe.decide_at, min(candidates, PRUNED_TO)), (1.0, 1)):
        end = max(round(until * recipe.iterations), done)
        films, done = films + (end - done) * count, end
    return films


def few_step_recipe(recipe: Recipe, steps: int) -> Recipe:
    """A recipe for a step-distilled model: so many denoising steps, without guidance."""
    return replace(recipe, denoising_steps=steps, guidance=1.0)


def clip_cost(info: PriorInfo, recipe: Recipe) -> ClipCost:
    """Work of a big model in a whole run for a body on four legs, over what a card does in a second; copies come on top."""
    begun = FOUR_LEGGED_CANDIDATES if recipe.curves == "fourier" else 1
    looks = _films(recipe, begun)
    asked = 1 if recipe.guidance == 1 and recipe.estimator == "sds" else 2
    looking = looks * recipe.draws * recipe.denoising_steps * asked
    compared = (begun + min(begun, PRUNED_TO)) * COMPARISON_VIEWS if begun > 1 else 0
    phases = len(recipe.phases_at) * PHASE_BINS if begun > 1 else 0
    # In the end: is it a gait that the prior knows (without guidance), and is it a walk or a run?
    known = COMPARISON_VIEWS if begun > 1 and recipe.phases_at and recipe.lock_feet else 0
    films = compared + phases + 3 * known
    evaluations = looking + (2 * films - known) * recipe.compared_draws
    # Encoding a film without a way back is a third of the work; encoding and decoding one is about as much as with it.
    encoded = looks * recipe.fit_steps if recipe.fit == "latents" else looks
    work = evaluations * info.predict_teraflop / 2 + (encoded + films / 3) * info.encode_teraflop
    return ClipCost(evaluations, work / CARD_TERAFLOPS)


def big_clips(info: PriorInfo) -> tuple[ClipCost, ClipCost | None]:
    """The cost of a clip with the recipe for big models, and with a few-step version of the model if there is one."""
    few = None if info.few_steps is None else clip_cost(info, few_step_recipe(RECIPES["big"], info.few_steps))
    return clip_cost(info, RECIPES["big"]), few


def cost_line(run: Distillation, left: float, evaluations: int) -> str:
    """The cost in one sentence; ``evaluations`` of the network belong to one iteration."""
    recipe = run.task.recipe
    count = recipe.iterations - run.iteration
    shorter = "a smaller --film" if run.task.prior.film.frames > 17 else "fewer --draws"
    return (
        f"{count} iterations with {evaluations} evaluations of the video model each will take about {in_words(left)}: "
        f"fewer --iterations, {shorter} or --recipe big are shorter, and Ctrl-C keeps what is done."
    )


def in_words(seconds: float) -> str:
    """A duration as people say it."""
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"
