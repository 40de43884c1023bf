"""Does the pose space's energy make distilled motions better? Short distillations with and without it: docs/posespace.md.

    python -m experiments.plausible --iterations 16 --weights 0 1e4 1e5

All arms share seeds and looks at the prior. Judged by what does not know the pose space: the judges of actions, contact with the
ground, smoothness, and edges of the mesh through skin far away.
"""

import time
from dataclasses import dataclass, replace

import numpy as np
import torch
import tyro

from akd.creatures.words import character
from akd.distill.recipe import DEFAULT
from akd.pipeline.animate import animate
from akd.posespace.measures import crossing_edges
from akd.posespace.representation import pose_to_vectors
from akd.posespace.space import PoseSpace
from akd.prior.load import load_prior

SENTENCES = ("a dog running", "a man waving", "a tyrannosaur walking")
FRAMES = 12
"""Frames whose triangles are tested and whose poses are scored, evenly chosen."""


@dataclass(frozen=True)
class Options:
    """What is distilled."""

    sentences: tuple[str, ...] = SENTENCES
    weights: tuple[float, ...] = (0.0, 1e4)
    """Weights of the energy."""
    iterations: int = 16
    seed: int = 0


def measured(sentence: str, weight: float, options: Options, prior) -> dict[str, float]:
    """One distillation in numbers."""
    rig, began = character(sentence)[0], time.process_time()
    recipe = replace(DEFAULT, iterations=options.iterations, plausible=weight)
    made = animate(rig, sentence, recipe=recipe, seed=options.seed, prior=prior)
    seconds = time.process_time() - began
    asked, known = made.judgement.asked, made.judgement.looks_like
    at = np.linspace(0, made.motion.frame_count - 1, FRAMES).astype(int)
    vectors = pose_to_vectors(made.motion.pose[torch.as_tensor(at)]).float()
    score = PoseSpace.build(rig).score(vectors)
    return {
        "asked action": known.probabilities.get(asked.action, float("nan")) if known and asked else float("nan"),
        "as asked": float(made.judgement.verdict == "as_asked"), "good": float(made.verdict == "good"),
        "skating": made.evaluation.skating_ratio or 0.0, "jerk": made.evaluation.jerk or 0.0,
        "movement": made.evaluation.motion_amount, "crossing edges %": 100 * float(crossing_edges(rig, vectors).mean()),
        "percentile": float(score.percentile.mean()), "prior's error": float(made.log[-1]["score"]), "seconds": seconds,
    }  # fmt: skip


def main(options: Options) -> None:
    torch.set_num_threads(1)
    prior, rows = load_prior("embedded"), {}
    for sentence in options.sentences:
        for weight in options.weights:
            rows[sentence, weight] = measured(sentence, weight, options, prior)
            print(
                f"{sentence}, {weight:g}: " + ", ".join(f"{key} {value:.3g}" for key, value in rows[sentence, weight].items()),
                flush=True,
            )
    keys = list(next(iter(rows.values())))
    print("| weight | " + " | ".join(keys) + " |\n" + "|---" * (len(keys) + 1) + "|")
    for weight in options.weights:
        means = [np.nanmean([rows[sentence, weight][key] for sentence in options.sentences]) for key in keys]
        print(f"| {weight:g} | " + " | ".join(f"{value:.3g}" for value in means) + " |")


if __name__ == "__main__":
    main(tyro.cli(Options))
