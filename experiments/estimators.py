"""Noise of each estimator's gradient for its cost: the table of gradient noise of docs/distill.md.

    python -m experiments.estimators [creature]

A true walk of a held-out individual is filmed; every estimator is evaluated many times with other noise. Noise is
E‖g − ḡ‖² / ‖ḡ‖², ḡ the mean of all gradients; multiplied by the network's evaluations it compares equal work.
"""

import sys

import torch
from rich.console import Console
from rich.table import Table

from akd.creatures.build import creature
from akd.creatures.captions import describe, negative
from akd.creatures.gaits import gait_motion
from akd.distill.estimators import ESTIMATORS, ScoreInputs, draw_noise
from akd.prior.load import load_prior
from akd.prior.prior import VideoPrior
from akd.reconstruct.skinned import skinned_splats
from akd.render.film import film
from akd.training.data_card import FIRST_HELD_OUT_SEED

REPEATS = 12
DRAWS = 8
TIMES = (0.7, 0.8)


def answers(prior: VideoPrior, name: str, z: torch.Tensor, still: torch.Tensor, plan: str, *, opposite: bool) -> torch.Tensor:
    """What an estimator says under different noises."""
    shape = tuple(z.shape[1:])
    found = []
    for seed in range(REPEATS):
        randomness = torch.Generator().manual_seed(seed)
        noise, t = draw_noise(shape, DRAWS, TIMES, randomness)
        if not opposite:
            noise = torch.randn(noise.shape, generator=randomness)
        ask = ScoreInputs(noise, t, prior.embed(describe(plan, "walk")), (prior.embed(negative(plan)),), 3.5, rest=lambda: still)
        found.append(ESTIMATORS[name](prior, z, ask))
    return torch.cat(found)


@torch.no_grad()
def main(plan: str) -> None:
    torch.set_num_threads(1)
    prior, rig = load_prior(), creature(plan, FIRST_HELD_OUT_SEED)
    skinned, settings = skinned_splats(rig), prior.film
    motion = gait_motion(rig, "walk", fps=settings.rate(rig.leg_metres), frames=settings.frames)
    video = film(rig.skeleton, motion, skinned, settings)
    z, still = prior.encode(video[None]), prior.encode(video[:1].expand_as(video)[None])
    columns = ("estimator", "evaluations", "noise", "noise × evaluations", "noise of independent draws")
    table = Table(*columns, title=f"{plan}, t in {TIMES}")
    for name in ESTIMATORS:
        cost = DRAWS * (3 if name == "dds" else 2)
        noises = []
        for opposite in (True, False):
            said = answers(prior, name, z, still, plan, opposite=opposite)
            mean = said.mean(0)
            noises.append(float((said - mean).square().sum() / (REPEATS - 1) / mean.square().sum()))
        table.add_row(name, str(cost), f"{noises[0]:.2f}", f"{noises[0] * cost:.1f}", f"{noises[1]:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "dog")
