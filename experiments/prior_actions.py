"""Does the prior tell actions apart? Films of held-out real clips under the captions of all classes: docs/prior.md, "Actions".

``python -m experiments.prior_actions FOLDER --motions ../shared/motions`` films the test part once (bodies and clips that no
training saw; the films stay in ``--films``) and prints the share of films whose true caption has the least denoising error, and
among the three least, by class; chance is one over the number of classes.
"""

import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import tyro
from rich.console import Console
from rich.table import Table

from akd.creatures.action_phrases import ACTION_VERBS
from akd.creatures.captions import describe_with
from akd.prior.load import load_prior
from akd.prior.prior import VideoPrior, denoising_error
from akd.training.prior.cache import read_cache
from akd.training.prior.clips import CLIP_FILM
from akd.training.prior.real_films import RealLabel, write_real_films
from akd.training.prior.real_motion import FOUR_LEGGED_KINDS, PEOPLE_KINDS, real_clips
from akd.training.prior.video_model import SAME_ACTION

PEOPLE = (
    "walk", "run", "jump", "kick", "punch", "wave_hand", "sit_down", "stand_up", "dance", "throw", "pick_up", "die", "idle",
    "sword",
)  # fmt: skip
FOUR_LEGGED = ("walk", "run", "jump", "eat", "attack", "die", "idle")
SAME = SAME_ACTION | {"headbutt": "attack"}
"""Actions that count as another class."""
TIMES = (0.5, 0.65, 0.8, 0.9)


@dataclass(frozen=True)
class Settings:
    """What is measured."""

    name: tyro.conf.Positional[str] = "embedded"
    """A prior's folder, or "embedded"."""
    motions: Path = Path("../shared/motions")
    films: Path = Path("runs/held-out-films")
    """Where the films are made and kept."""
    each: int = 8
    """Films of each class, at most …"""
    per_clip: int = 2
    """… and of each clip: films of one clip on one body are found or missed together."""
    draws: int = 2
    """Noises for each time."""
    part: str = "test"
    first_frame: bool = False
    """Give the prior the first frame of each film, as distillation does."""


def caption_errors(
    prior: VideoPrior, video: torch.Tensor, noun: str, classes: tuple[str, ...], draws: int, *, first_frame: bool = False
) -> np.ndarray:
    """Mean denoising error of a film under each class's caption, all with the same noise."""
    randomness = torch.Generator().manual_seed(0)
    film = video[: prior.film.frames].float() / 255
    z, condition = prior.encode(film[None]), prior.condition(film[:1], len(film)) if first_frame else None
    t = torch.tensor(TIMES).repeat_interleave(draws)
    noise = torch.randn((len(t), *z.shape[1:]), generator=randomness)
    texts = [prior.embed(describe_with(noun, ACTION_VERBS[action])) for action in classes]
    return np.array([float(denoising_error(prior, z, noise, t, text, condition).log().mean()) for text in texts])


def main(settings: Settings) -> None:
    """Film, measure, print."""
    write_real_films(settings.films, settings.motions, CLIP_FILM, 1, part=settings.part)
    prior = load_prior(settings.name)
    kinds = {clip.source: clip.kind for clip in real_clips(settings.motions, settings.part)}
    cache = read_cache(settings.films)
    console = Console()
    for title, classes, mine in (("people", PEOPLE, PEOPLE_KINDS | {"person"}), ("four-legged", FOUR_LEGGED, FOUR_LEGGED_KINDS)):
        ranks: dict[str, list[int]] = defaultdict(list)
        taken: Counter[str] = Counter()
        for index, label in enumerate(cache.labels):
            if not isinstance(label, RealLabel) or kinds.get(label.source) not in mine:
                continue
            action = SAME.get(label.action, label.action)
            if action not in classes or len(ranks[action]) >= settings.each or taken[label.source] >= settings.per_clip:
                continue
            taken[label.source] += 1
            video = cache.video(index)
            errors = caption_errors(prior, video, label.noun, classes, settings.draws, first_frame=settings.first_frame)
            ranks[action].append(int((errors < errors[classes.index(action)]).sum()))
        table = Table("action", "films", "least error", "among three", title=f"{title}: {len(classes)} captions")
        for action, found in ranks.items():
            table.add_row(action, str(len(found)), f"{np.mean(np.array(found) == 0):.2f}", f"{np.mean(np.array(found) < 3):.2f}")
        every = np.array([rank for found in ranks.values() for rank in found])
        table.add_row("all", str(len(every)), f"{np.mean(every == 0):.2f}", f"{np.mean(every < 3):.2f}")
        console.print(table)
        console.print(json.dumps({"title": title, "top1": float(np.mean(every == 0)), "top3": float(np.mean(every < 3))}))


if __name__ == "__main__":
    main(tyro.cli(Settings))
