"""The recogniser: which action is this, judged by the motion alone?

One model per build, on the numbers of ``signals``: the mean of a tree ensemble and of a few small networks, sharpened so that its
probabilities hold on subjects and families that were left out. It is trained on the training part of real motion only
(``python -m akd.training.recogniser``). It is a judge: nothing that makes or chooses motions may import it, and an
import contract holds that.
"""

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from jaxtyping import Float, Integer

from akd.measure.body import BodyMotion, Build
from akd.measure.signals import features

WEIGHTS = Path(__file__).with_name("weights") / "recogniser.safetensors"
NONE = "none of these"
MIN_FRAMES = 6
"""Shorter clips show no action."""
FAR = 4.0
"""Standardised features are clipped at this many deviations: one odd number must not decide."""


@dataclass(frozen=True, eq=False)
class Trees:
    """A tree ensemble as arrays. A node's left child follows it, and a leaf is its own right child."""

    root: Integer[np.ndarray, " tree"]
    feature: Integer[np.ndarray, " node"]
    threshold: Float[np.ndarray, " node"]
    """A clip goes left whose feature is at most this."""
    right: Integer[np.ndarray, " node"]
    vote: Integer[np.ndarray, " node"]
    """Class of a leaf: trees are grown until leaves are pure."""
    class_count: int
    depth: int

    def probabilities(self, values: Float[np.ndarray, "clip feature"]) -> Float[np.ndarray, "clip class"]:
        """The share of trees that vote for each class."""
        node = np.broadcast_to(self.root, (len(values), len(self.root)))
        for _ in range(self.depth):
            seen = np.take_along_axis(values, self.feature[node].astype(np.int64), 1).astype(np.float32)
            right = self.right[node]
            node = np.where((seen <= self.threshold[node]) & (right != node), node + 1, right)
        return np.stack([np.bincount(votes, minlength=self.class_count) for votes in self.vote[node]]) / len(self.root)


@dataclass(frozen=True, eq=False)
class Nets:
    """A few networks with one hidden layer."""

    hidden: Float[np.ndarray, "net width feature"]
    hidden_bias: Float[np.ndarray, "net width"]
    output: Float[np.ndarray, "net class width"]
    output_bias: Float[np.ndarray, "net class"]

    def probabilities(self, standard: Float[np.ndarray, "clip feature"]) -> Float[np.ndarray, "clip class"]:
        """Mean of their softmax."""
        inside = np.einsum("nwf,cf->ncw", self.hidden.astype(np.float64), standard) + self.hidden_bias[:, None]
        active = np.maximum(inside, 0.0)
        score = np.einsum("nkw,ncw->nck", self.output.astype(np.float64), active) + self.output_bias[:, None]
        odds = np.exp(score - score.max(-1, keepdims=True))
        return (odds / odds.sum(-1, keepdims=True)).mean(0)


@dataclass(frozen=True, eq=False)
class RealClips:
    """The training clips, for distances to real motion."""

    axes: Float[np.ndarray, "feature axis"]
    """Principal axes of the standardised features."""
    points: Float[np.ndarray, "clip axis"]
    action: Integer[np.ndarray, " clip"]
    """Place of its class."""
    group: Integer[np.ndarray, " clip"]
    """Its subject or family: clips of the same one are near by nature and not compared."""
    pelvis: Float[np.ndarray, "clip 2"]
    """Lowest and highest pelvis, as a share of its height at rest."""


@dataclass(frozen=True, eq=False)
class Model:
    """The recogniser of one build."""

    build: Build
    classes: tuple[str, ...]
    names: tuple[str, ...]
    """Of the features, to refuse weights of another version."""
    mean: Float[np.ndarray, " feature"]
    scale: Float[np.ndarray, " feature"]
    trees: Trees
    nets: Nets
    sharpness: float
    """Probabilities are raised to this power and normalised again; found on left-out subjects and families."""
    real: RealClips

    def standard(self, values: Float[np.ndarray, "clip feature"]) -> Float[np.ndarray, "clip feature"]:
        return np.clip((values - self.mean) / self.scale, -FAR, FAR)

    def raw(self, values: Float[np.ndarray, "clip feature"]) -> Float[np.ndarray, "clip class"]:
        """Probabilities before sharpening."""
        return (self.trees.probabilities(values) + self.nets.probabilities(self.standard(values))) / 2

    def probabilities(self, values: Float[np.ndarray, "clip feature"]) -> Float[np.ndarray, "clip class"]:
        return sharpened(self.raw(values), self.sharpness)

    def distance(self, values: Float[np.ndarray, " feature"], action: str) -> float | None:
        """Distance to the nearest real clip of an action, as the share of real clips that are nearer to one of another group.

        0: nearer than any real clip is to another's; 1: farther than all. None if there are too few real clips.
        """
        real = self.real
        own = real.action == self.classes.index(action) if action in self.classes else np.zeros(len(real.action), bool)
        usual = _distances_to_others(real.points[own].astype(np.float64), real.group[own])
        if len(usual) < 5:
            return None
        point = (self.standard(values[None]) @ real.axes.astype(np.float64))[0]
        nearest = float(np.linalg.norm(real.points[own] - point, axis=1).min())
        return float((usual < nearest).mean())

    def heights(self, action: str) -> tuple[float, float] | None:
        """Lowest and highest pelvis in real clips of an action, as shares of its height at rest; the outermost 2 % left out."""
        if action not in self.classes:
            return None
        own = self.real.pelvis[self.real.action == self.classes.index(action)].astype(np.float64)
        if len(own) < 5:
            return None
        return float(np.quantile(own[:, 0], 0.02)), float(np.quantile(own[:, 1], 0.98))


@dataclass(frozen=True)
class Recognition:
    """What a motion looks like."""

    probabilities: dict[str, float]
    """Of every class, the likeliest first."""

    @property
    def action(self) -> str:
        return next(iter(self.probabilities))

    @property
    def probability(self) -> float:
        return self.probabilities[self.action]

    def as_dict(self) -> dict[str, object]:
        return {"action": self.action, "probability": round(self.probability, 3)}


def recognise(body: BodyMotion) -> Recognition | None:
    """The action of a motion; None for builds that the recogniser has not seen, and for clips of a few frames."""
    model = load_models().get(body.build)
    if model is None or body.frame_count < MIN_FRAMES:
        return None
    found = model.probabilities(clip_features(body)[None])[0]
    order = np.argsort(-found)
    return Recognition({model.classes[index]: float(found[index]) for index in order})


def clip_features(body: BodyMotion) -> Float[np.ndarray, " feature"]:
    return features(body)[1].astype(np.float64)


def sharpened(probabilities: Float[np.ndarray, "clip class"], sharpness: float) -> Float[np.ndarray, "clip class"]:
    raised = np.maximum(probabilities, 1e-6) ** sharpness
    return raised / raised.sum(-1, keepdims=True)


@lru_cache(1)
def load_models(path: Path = WEIGHTS) -> dict[Build, Model]:
    """The shipped models, read once."""
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as file:
        about = json.loads(file.metadata()["models"])
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    return {build: model_from(build, described, arrays) for build, described in about.items()}


def model_from(build: Build, described: dict, arrays: dict[str, np.ndarray]) -> Model:
    """A model from arrays named "<build>/<part>.<field>" and what is known of it."""

    def part(name: str) -> dict[str, np.ndarray]:
        start = f"{build}/{name}."
        return {key.removeprefix(start): value for key, value in arrays.items() if key.startswith(start)}

    trees = Trees(**part("trees"), class_count=len(described["classes"]), depth=int(described["depth"]))
    return Model(
        build, tuple(described["classes"]), tuple(described["names"]), arrays[f"{build}/mean"], arrays[f"{build}/scale"],
        trees, Nets(**part("nets")), float(described["sharpness"]), RealClips(**part("real")),
    )  # fmt: skip


def _distances_to_others(
    points: Float[np.ndarray, "clip axis"], group: Integer[np.ndarray, " clip"]
) -> Float[np.ndarray, " clip"]:
    """For every clip, how far the nearest clip of another group is."""
    if len(np.unique(group)) < 2:
        return np.zeros(0)
    apart = np.linalg.norm(points[:, None] - points[None], axis=-1)
    return np.where(group[:, None] == group[None], np.inf, apart).min(1)
