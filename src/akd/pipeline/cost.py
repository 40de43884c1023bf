"""What a long run will cost, said as soon as its first iterations tell."""

from akd.distill.loop import PRUNED_TO, Distillation

LONG_RUN_SECONDS = 600.0
"""Shorter runs need no warning."""
WARM_UP = 2
"""Iterations after which the rest is estimated; the first one also compiles and loads."""


def seconds_left(run: Distillation, seconds: float, candidates: int) -> float:
    """Expected time of the iterations that are left, from one that had so many candidates; candidates become one on the way."""
    recipe = run.task.recipe
    films, done, now = 0, run.iteration, len(run.candidates)
    for until, count in ((recipe.prune_at, now), (recipe.decide_at, min(now, PRUNED_TO)), (1.0, 1)):
        end = max(round(until * recipe.iterations), done)
        films, done = films + (end - done) * count, end
    return seconds / candidates * films


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
