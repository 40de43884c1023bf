"""How well sentences are read: the figures of docs/words.md, and of the message about unknown actions.

    python -m experiments.words                   both halves of ``experiments.paraphrases``
    python -m experiments.words --half tuning --show      with every sentence that went wrong

Top-1 and top-3 over paraphrases of known actions; AUROC of the confidence, known against unknown; and, at the confidence that
rejects nine tenths of the unknown, the share of the known that is answered and of those that is right. 95 % intervals by 2,000
bootstrap samples of the sentences.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import tyro

from akd.creatures.action_list import ACTION_LIST
from akd.creatures.captions import action_from_prompt
from akd.creatures.wish import SURE, Wish, read_wish
from experiments.paraphrases import half
from experiments.word_table import minilm


@dataclass(frozen=True)
class Settings:
    """What to measure."""

    half: Literal["tuning", "held-out", "both"] = "both"
    show: bool = False
    """Also print what went wrong."""
    samples: int = 2000
    """Bootstrap samples."""
    model: Path | None = None
    """MiniLM's ONNX file, to measure it by itself too (see ``word_table``), with its"""
    tokenizer: Path | None = None


def confidence(wish: Wish) -> float:
    """Of the nearest action, answered or not."""
    return wish.nearest[0][1] if wish.nearest else 0.0


def measures(right: np.ndarray, third: np.ndarray, known: np.ndarray, unknown: np.ndarray) -> dict[str, float]:
    """The figures from what was right (first, among three) and the confidences."""
    limit = float(np.quantile(unknown, 0.9))
    answered = known > limit
    auroc = float((known[:, None] > unknown).mean() + 0.5 * (known[:, None] == unknown).mean())
    sure = known >= SURE
    return {
        "top-1": float(right.mean()), "top-3": float(third.mean()), "AUROC": auroc, "limit": limit,
        "answered": float(answered.mean()), "right": float(right[answered].mean()),
        "answered at SURE": float(sure.mean()), "right at SURE": float(right[sure].mean()),
        "rejected at SURE": float((unknown < SURE).mean()),
    }  # fmt: skip


def main(settings: Settings) -> None:
    """Measure and print."""
    for name in ("tuning", "held-out"):
        if settings.half not in (name, "both"):
            continue
        known, unknown = half(held_out=name == "held-out")
        begin = time.process_time()
        wishes, others = [read_wish(text) for text, _ in known], [read_wish(text) for text in unknown]
        milliseconds = 1000 * (time.process_time() - begin) / (len(known) + len(unknown))
        names = [[near for near, _ in wish.nearest] for wish in wishes]
        right = np.array([action in near[:1] for near, (_, action) in zip(names, known, strict=True)])
        third = np.array([action in near for near, (_, action) in zip(names, known, strict=True)])
        sure, unsure = (np.array([confidence(wish) for wish in part]) for part in (wishes, others))
        actions = len({action for _, action in known})
        print(f"\n{name}: {len(known)} paraphrases of {actions} actions, {len(unknown)} unknown; {milliseconds:.1f} ms each")
        ranges = _intervals(right, third, sure, unsure, settings.samples)
        for key, value in measures(right, third, sure, unsure).items():
            print(f"  {key:18s} {value:.2f}  ({ranges[key][0]:.2f}–{ranges[key][1]:.2f})")
        print(f"  word lists alone   {_lists_alone(known)}")
        if settings.model and settings.tokenizer:
            print(f"  MiniLM by itself   {_minilm(known, unknown, settings.model, settings.tokenizer)}")
        if settings.show:
            _show(known, wishes, unknown, others)


def _intervals(
    right: np.ndarray, third: np.ndarray, sure: np.ndarray, unsure: np.ndarray, samples: int
) -> dict[str, tuple[float, float]]:
    rng = np.random.default_rng(0)
    drawn: list[dict[str, float]] = []
    for _ in range(samples):
        a, b = rng.integers(len(right), size=len(right)), rng.integers(len(unsure), size=len(unsure))
        drawn.append(measures(right[a], third[a], sure[a], unsure[b]))
    return {key: tuple(np.nanquantile([entry[key] for entry in drawn], (0.025, 0.975))) for key in drawn[0]}


def _minilm(known: Sequence[tuple[str, str]], unknown: list[str], model: Path, tokenizer: Path) -> str:
    """The same figures for the cosine between MiniLM's embeddings of a sentence and of "a person" with an action's phrase."""
    embed = minilm(model, tokenizer)
    phrases = {name: embed([f"a person {phrase}" for phrase in words.phrases]) for name, words in ACTION_LIST.items()}
    near, far = (
        np.stack([(embed(texts) @ rows.T).max(1) for rows in phrases.values()], 1)
        for texts in ([text for text, _ in known], unknown)
    )
    order, names = np.argsort(-near, 1), list(phrases)
    truth = np.array([names.index(action) for _, action in known])[:, None]
    found = measures((order[:, :1] == truth)[:, 0], (order[:, :3] == truth).any(1), near.max(1), far.max(1))
    return ", ".join(f"{key} {found[key]:.2f}" for key in ("top-1", "top-3", "AUROC", "answered", "right"))


def _lists_alone(known: Sequence[tuple[str, str]]) -> str:
    """What ``captions.VERBS`` alone, the reading before this one, finds."""
    motions = {words.motion: name for name, words in ACTION_LIST.items() if words.motion}
    found = [(motions.get(action_from_prompt(text) or ""), action) for text, action in known]
    return f"{sum(a == b for a, b in found)} right, {sum(a is not None and a != b for a, b in found)} wrong of {len(found)}"


def _show(known: Sequence[tuple[str, str]], wishes: list[Wish], unknown: list[str], others: list[Wish]) -> None:
    for wish, (text, action) in zip(wishes, known, strict=True):
        if not wish.nearest or wish.nearest[0][0] != action or confidence(wish) < SURE:
            print(f"    {text!r} means {action}: {wish.said!r} {dict(wish.nearest)}")
    for wish, text in zip(others, unknown, strict=True):
        if confidence(wish) >= SURE - 0.1:
            print(f"    {text!r} is unknown: {wish.said!r} {dict(wish.nearest)}")


if __name__ == "__main__":
    main(tyro.cli(Settings))
