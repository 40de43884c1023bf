"""Settings of the pose space, chosen on the families of the motions that no weights were trained on (and that no table shows).

    python -m experiments.pose_choice --weights a.safetensors b.safetensors --noise 1 .8 --copies 0 .25 .5
    python -m experiments.pose_choice --weights a.safetensors --noise --copies --judge

Weights are compared, then the noise that poses are drawn from, then, with twenty examples of other clips, the share of poses that
are loose copies of these. Samples are neither guided nor repaired: what is chosen is the network's. Families count alike.
"""

from collections import defaultdict
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import torch
import tyro

from akd.assets import load_rig
from akd.posespace.denoiser import Denoiser, Poses
from akd.posespace.measures import CORRUPTIONS, auc, coverage, gaussian_poses, pairwise_distance, pca_poses, precision_recall
from akd.posespace.network import SHIPPED, load_network
from akd.posespace.representation import RigDescriptor, rig_descriptor
from akd.posespace.rig_batch import batch_kinematics
from akd.posespace.scoring import PoseScorer
from akd.posespace.space import SCORED_COUNT
from akd.training.posespace.real_poses import training_characters
from experiments.posespace import clip_poses

MOST_OF_A_FAMILY = 2
"""Characters of one family that are looked at: six cartoon fishes are one kind of rig."""


@dataclass(frozen=True)
class Options:
    """What is compared."""

    weights: tuple[Path, ...] = (SHIPPED,)
    noise: tuple[float, ...] = (1.0, 0.9, 0.8, 0.7)
    """Noise that poses are drawn from, relative to that of training."""
    copies: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75)
    """Shares of loose copies where examples are known."""
    looseness: tuple[float, ...] = (0.2,)
    """How far copies leave the examples."""
    judge: bool = False
    """Also how well broken poses are found."""
    examples: int = 20
    poses: int = 64
    rigs: bool = False
    """Also print every rig."""
    motions: Path = Path(__file__).resolve().parents[2] / "shared" / "motions"


@dataclass(frozen=True, eq=False)
class Known:
    """A rig and its real poses."""

    name: str
    family: str
    descriptor: RigDescriptor
    real: Poses
    examples: Poses | None
    others: Poses | None


def known_rigs(options: Options) -> list[Known]:
    """The characters kept for validation, two of a family at most."""
    out: list[Known] = []
    for entry in training_characters(options.motions, validation=True):
        if sum(known.family == entry["family"] for known in out) < MOST_OF_A_FAMILY:
            rig = load_rig(options.motions / entry["file"])
            real, examples, others = clip_poses(rig, options.poses)
            assert real is not None
            examples = None if examples is None else examples[torch.linspace(0, len(examples) - 1, options.examples).long()]
            out.append(Known(Path(entry["file"]).stem, entry["family"], rig_descriptor(rig), real, examples, others))
    return out


def beside(denoiser: Denoiser, real: Poses, made: Poses) -> dict[str, float]:
    """How near made poses are to real ones."""
    places = [batch_kinematics(denoiser.rig.rigs, vectors[None])[1][0] for vectors in (real, made)]
    known, drawn = (part.flatten(1) for part in places)
    precision, recall = precision_recall(known, drawn)
    return {
        "precision": precision, "recall": recall, "f1": 2 * precision * recall / max(precision + recall, 1e-6),
        "coverage": coverage(known, drawn),
        "apd": pairwise_distance(places[1]) / max(pairwise_distance(places[0]), 1e-6),
    }  # fmt: skip


def compared(known: Known, weights: Path, options: Options) -> dict[str, dict[str, float]]:
    """All settings on one rig, by name."""
    network, out = load_network(weights), dict[str, dict[str, float]]()
    plain = Denoiser.of(network, known.descriptor)
    for noise in options.noise:
        made = plain.to_vectors(plain.draw(options.poses, 1, noise=noise))
        out[f"{weights.stem}, noise {noise:g}"] = beside(plain, known.real, made)
    if options.judge:
        out[f"{weights.stem}, score"] = _judged(plain, known.descriptor, known.real)
    if known.examples is None or known.others is None or not options.copies:
        return out
    shown = Denoiser.of(network, known.descriptor, known.examples)
    for copies, looseness in product(options.copies, options.looseness):
        made = shown.to_vectors(shown.draw(options.poses, 1, copies=copies, looseness=looseness))
        name = f"{weights.stem}, {options.examples} examples, copies {copies:g}, looseness {looseness:g}"
        out[name] = beside(shown, known.others, made)
    few = known.examples
    out["pca of them"] = beside(shown, known.others, pca_poses(few, options.poses, 1))
    out["gaussian of them"] = beside(shown, known.others, gaussian_poses(few.mean(0), few.std(0), options.poses, 1))
    return out


def _judged(denoiser: Denoiser, descriptor: RigDescriptor, real: Poses) -> dict[str, float]:
    scorer = PoseScorer.of(denoiser, denoiser.to_vectors(denoiser.draw(SCORED_COUNT, 0, noise=1.0)))
    rng, good = np.random.default_rng(0), scorer.score(real).anomaly
    return {name: auc(good, scorer.score(spoil(descriptor, real, rng)).anomaly) for name, spoil in CORRUPTIONS.items()}


def main(options: Options) -> None:
    torch.set_num_threads(1)
    rigs = known_rigs(options)
    rows: dict[str, list[tuple[Known, dict[str, float]]]] = defaultdict(list)
    for weights in options.weights:
        for known in rigs:
            for name, row in compared(known, weights, options).items():
                if not (name.endswith("of them") and weights != options.weights[0]):
                    rows[name].append((known, row))
    for name, found in rows.items():
        kin = np.array([1 / sum(other.family == known.family for other, _ in found) for known, _ in found])
        means = {key: float(np.average([row[key] for _, row in found], weights=kin)) for key in found[0][1]}
        print(f"{name:60s} " + "  ".join(f"{key} {value:.2f}" for key, value in means.items()), flush=True)
        for known, row in found if options.rigs else ():
            print(f"    {known.name:40s} " + "  ".join(f"{key} {value:.2f}" for key, value in row.items()))


if __name__ == "__main__":
    main(tyro.cli(Options))
