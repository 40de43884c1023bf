"""Fit the recogniser of one build: extremely randomised trees and a few small networks on the features of real clips."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float

from akd.measure.body import Build
from akd.measure.recognise import MIN_FRAMES, Model, features, model_from, sharpened
from akd.training.recogniser.clips import RealClip, cuts

AXES = 48
"""Principal axes in which distances to real motion are measured."""


@dataclass(frozen=True)
class FitSettings:
    """What was chosen on left-out subjects and families of the training part."""

    trees: int = 120
    tried_features: int = 60
    """Features among which each split is chosen."""
    nets: int = 3
    width: int = 96
    epochs: int = 40
    batch: int = 64
    learning_rate: float = 2e-3
    weight_decay: float = 0.05
    input_dropout: float = 0.2
    dropout: float = 0.4
    smoothing: float = 0.05
    """Share of the label that goes to the other classes."""
    balance: float = 0.7
    """Weight of a clip: (number of clips of its class) to the power of minus this; 1 makes all classes alike."""
    sharpness: float = 1.5
    """Until it is found on left-out groups."""
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Table:
    """Features of clips, whole ones and cuts."""

    names: tuple[str, ...]
    values: Float[np.ndarray, "clip feature"]
    action: np.ndarray
    group: np.ndarray
    source: np.ndarray
    is_cut: np.ndarray
    pelvis: Float[np.ndarray, "clip 2"]

    def __getitem__(self, chosen: np.ndarray) -> "Table":
        rest = (getattr(self, name)[chosen] for name in ("values", "action", "group", "source", "is_cut", "pelvis"))
        return Table(self.names, *rest)


def feature_table(clips: list[RealClip], *, with_cuts: bool, seed: int = 0) -> Table:
    """Rows of all usable clips."""
    rng, rows = np.random.default_rng(seed), []
    names: tuple[str, ...] = ()
    for clip in clips:
        if clip.action is None or clip.body.frame_count < MIN_FRAMES:
            continue
        for number, body in enumerate((clip.body, *(cuts(clip.body, clip.action, rng) if with_cuts else ()))):
            names, values = features(body)
            height = body.pelvis[:, 1] / max(body.rest_pelvis[1], 0.1)
            rows.append(
                (values.astype(np.float64), clip.action, clip.group, clip.source, number > 0, (height.min(), height.max()))
            )
    values, action, group, source, is_cut, pelvis = (np.array(column) for column in zip(*rows, strict=True))
    return Table(tuple(names), values, action, group, source, is_cut, pelvis)


def fit(table: Table, build: Build, settings: FitSettings) -> tuple[Model, dict, dict[str, np.ndarray]]:
    """A model, and what describes it and its arrays for the file."""
    classes = tuple(np.unique(table.action).tolist())
    place = np.searchsorted(classes, table.action)
    count = Counter(table.action.tolist())
    weight = np.array([count[action] ** -settings.balance for action in table.action])
    weight /= weight.mean()
    mean, scale = table.values.mean(0), table.values.std(0) + 1e-3
    arrays, depth = _trees(table.values, place, weight, settings)
    arrays |= {"mean": mean.astype(np.float32), "scale": scale.astype(np.float32)}
    standard = np.clip((table.values - arrays["mean"]) / arrays["scale"], -4, 4)
    arrays |= _nets(standard, place, weight, len(classes), settings)
    arrays |= _real(table, standard, place)
    described = {"classes": classes, "names": table.names, "depth": depth, "sharpness": settings.sharpness}
    named = {f"{build}/{name}": value for name, value in arrays.items()}
    return model_from(build, described, named), described, named


def _trees(values: np.ndarray, place: np.ndarray, weight: np.ndarray, settings: FitSettings) -> tuple[dict[str, np.ndarray], int]:
    from sklearn.ensemble import ExtraTreesClassifier

    tried = min(settings.tried_features, values.shape[1])
    forest = ExtraTreesClassifier(settings.trees, max_features=tried, random_state=settings.seed, n_jobs=1)
    forest.fit(values.astype(np.float32), place, sample_weight=weight)
    parts: dict[str, list[np.ndarray]] = {name: [] for name in ("root", "feature", "threshold", "right", "vote")}
    start = 0
    for tree in (estimator.tree_ for estimator in forest.estimators_):
        nodes = np.arange(tree.node_count)
        leaf = tree.children_left < 0
        assert np.array_equal(tree.children_left[~leaf], nodes[~leaf] + 1), "left children should follow their parents"
        parts["root"].append(np.array([start], np.int32))
        parts["feature"].append(np.where(leaf, 0, tree.feature).astype(np.uint16))
        parts["threshold"].append(np.where(leaf, 0.0, tree.threshold).astype(np.float32))
        parts["right"].append((start + np.where(leaf, nodes, tree.children_right)).astype(np.int32))
        parts["vote"].append(forest.classes_[tree.value[:, 0].argmax(1)].astype(np.uint8))
        start += tree.node_count
    return {f"trees.{name}": np.concatenate(part) for name, part in parts.items()}, max(
        e.tree_.max_depth for e in forest.estimators_
    )


def _nets(
    standard: np.ndarray, place: np.ndarray, weight: np.ndarray, class_count: int, settings: FitSettings
) -> dict[str, np.ndarray]:
    inputs, labels, weights = (torch.as_tensor(a) for a in (standard.astype(np.float32), place, weight.astype(np.float32)))
    layers = []
    for number in range(settings.nets):
        torch.manual_seed(settings.seed + number)
        net = torch.nn.Sequential(
            torch.nn.Dropout(settings.input_dropout),
            torch.nn.Linear(standard.shape[1], settings.width),
            torch.nn.ReLU(),
            torch.nn.Dropout(settings.dropout),
            torch.nn.Linear(settings.width, class_count),
        )
        optimiser = torch.optim.AdamW(net.parameters(), settings.learning_rate, weight_decay=settings.weight_decay)
        for epoch in range(settings.epochs):
            optimiser.param_groups[0]["lr"] = settings.learning_rate * (1 - epoch / settings.epochs)
            for some in torch.randperm(len(inputs)).split(settings.batch):
                error = torch.nn.functional.cross_entropy(
                    net(inputs[some]), labels[some], reduction="none", label_smoothing=settings.smoothing
                )
                optimiser.zero_grad()
                (error * weights[some]).mean().backward()
                optimiser.step()
        layers.append([parameter.detach().numpy().astype(np.float16) for parameter in net.parameters()])
    names = ("hidden", "hidden_bias", "output", "output_bias")
    return {f"nets.{name}": np.stack(parts) for name, parts in zip(names, zip(*layers, strict=True), strict=True)}


def _real(table: Table, standard: np.ndarray, place: np.ndarray) -> dict[str, np.ndarray]:
    """Principal axes of the features, and where the whole clips are."""
    _, _, axes = np.linalg.svd(standard - standard.mean(0), full_matrices=False)
    axes = axes[:AXES].T.astype(np.float16)
    whole = ~table.is_cut
    groups = {name: number for number, name in enumerate(dict.fromkeys(table.group.tolist()))}
    return {
        "real.axes": axes,
        "real.points": (standard[whole] @ axes.astype(np.float64)).astype(np.float16),
        "real.action": place[whole].astype(np.uint8),
        "real.group": np.array([groups[name] for name in table.group[whole]], np.uint16),
        "real.pelvis": table.pelvis[whole].astype(np.float16),
    }


def best_sharpness(raw: Float[np.ndarray, "clip class"], place: np.ndarray) -> float:
    """The power that makes left-out probabilities most likely."""
    tried = np.arange(0.8, 4.01, 0.1)
    loss = [-np.log(sharpened(raw, power)[np.arange(len(place)), place]).mean() for power in tried]
    return round(float(tried[int(np.argmin(loss))]), 2)
