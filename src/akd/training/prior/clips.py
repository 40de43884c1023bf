"""What the embedded prior is trained on: films of our creatures, and captions for them."""

import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from akd.creatures.build import creature
from akd.creatures.captions import captions, describe, negative
from akd.creatures.gaits import actions_for, gait_motion, gaits_for
from akd.motion import Motion
from akd.reconstruct.skinned import film_splats
from akd.render.camera import View
from akd.render.film import FilmSettings, film
from akd.render.ground import Ground
from akd.rig import Rig
from akd.splats import SkinnedSplats
from akd.training.data_card import GENERIC_NOUNS, SHIPPED_CARD, TRAINING_PLANS, DataCard
from akd.training.prior.shown_points import shown_points

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

CLIP_FILM = FilmSettings(
    width=96, height=48, frames=25, reference_leg=0.9, azimuth=(60.0, 60.0), elevation=(12.0, 12.0), distance=(1.3, 1.3),
    panels=(0.0, -90.0), camera="body", look="figure", background=(0.93, 0.95, 0.97),
    ground=Ground(((0.62, 0.63, 0.65), (0.72, 0.73, 0.75)), tile=1.5, fade=2.2),
)  # fmt: skip
"""Two seconds of a person's figure, seen from its front right and its front left side by side, always from the same two sides: a
small network need not learn what a motion looks like from everywhere, and nothing about depth has to be guessed.

Real time at the leg length of a grown human, so that bodies of all sizes take a stride in about as many frames."""
NO_GROUND_SHARE = 0.0
"""Share of clips without ground."""
ACTIONS_PER_INDIVIDUAL = 4
"""Actions filmed of each individual besides standing still; all gaits are filmed, walking and running twice."""
COMMON_NAMES = {"gallop": ("run", 0.4), "bound": ("hop", 0.3), "tripod": ("walk", 0.3), "tetrapod": ("walk", 0.3)}
"""Common names of gaits, and the share of captions that use them."""
EMPTY_SHARE = 0.12
"""Share of empty captions, for classifier-free guidance."""


@dataclass(frozen=True)
class ClipLabel:
    """What a clip shows, enough to film it again."""

    plan: str
    seed: int
    """Of the individual."""
    motion: str
    """Gait or action."""
    motion_seed: int
    start: float
    """Phase at which the clip begins, in cycles."""
    azimuth: float
    elevation: float
    distance: float
    ground: bool

    @property
    def view(self) -> View:
        return View(self.azimuth, self.elevation, self.distance)


def individuals(count: int, *, first_seed: int = 0, plans: tuple[str, ...] = TRAINING_PLANS) -> Iterator[tuple[str, int]]:
    """Plan and seed of the individuals: plans alternate, so that any number of individuals is spread evenly over them."""
    for index in range(count):
        yield plans[index % len(plans)], first_seed + index // len(plans)


def draw_labels(rig: Rig, seed: int, settings: FilmSettings) -> list[ClipLabel]:
    """The clips filmed of an individual: a function of its plan and seed alone."""
    rng = np.random.default_rng((seed, *rig.name.encode()))
    gaits, actions = gaits_for(rig), actions_for(rig)
    motions = gaits + [name for name in gaits if name in ("walk", "run", "gallop", "tripod", "tetrapod")]
    others = [name for name in actions if name != "idle"]
    motions += ["idle"] * ("idle" in actions) + [str(name) for name in rng.permutation(others)[:ACTIONS_PER_INDIVIDUAL]]
    return [_draw_label(rig.name, seed, motion, settings, rng) for motion in motions]


def _draw_label(plan: str, seed: int, motion: str, settings: FilmSettings, rng: np.random.Generator) -> ClipLabel:
    motion_seed, start = int(rng.integers(1 << 30)), float(rng.random())
    ranges = (settings.azimuth, settings.elevation, settings.distance)
    azimuth, elevation, distance = (float(rng.uniform(*ends)) for ends in ranges)
    ground = bool(rng.random() >= NO_GROUND_SHARE)
    return ClipLabel(plan, seed, motion, motion_seed, start, azimuth, elevation, distance, ground)


def clip_motion(rig: Rig, label: ClipLabel, settings: FilmSettings) -> Motion:
    """The labelled motion, as long as the film."""
    rate = settings.rate(rig.leg_metres)
    return gait_motion(rig, label.motion, seed=label.motion_seed, fps=rate, frames=settings.frames, start=label.start)


def film_clip(
    rig: Rig, skinned: SkinnedSplats, motion: Motion, label: ClipLabel, settings: FilmSettings
) -> UInt8[Tensor, "frame height width 3"]:
    """Film a motion under the label's view."""
    if not label.ground:
        settings = replace(settings, ground=None)
    video = film(rig.skeleton, motion, skinned, settings, label.view)
    return (video.clamp(0, 1) * 255).round().byte()


@torch.no_grad()
def individual_clips(
    plan: str, seed: int, settings: FilmSettings
) -> tuple[UInt8[Tensor, "clip frame height width 3"], Float[Tensor, "clip frame row 3"], list[ClipLabel]]:
    """All clips of one individual."""
    rig = creature(plan, seed)
    skinned = film_splats(rig, settings)
    labels = draw_labels(rig, seed, settings)
    motions = [clip_motion(rig, label, settings) for label in labels]
    films = [film_clip(rig, skinned, motion, label, settings) for motion, label in zip(motions, labels, strict=True)]
    points = [shown_points(rig.skeleton, motion, skinned, settings) for motion in motions]
    return torch.stack(films), torch.stack(points), labels


def clip_caption(label: ClipLabel, rng: np.random.Generator, card: DataCard = SHIPPED_CARD) -> str:
    """A random true sentence about a clip, in the nouns of a card."""
    if rng.random() < EMPTY_SHARE:
        return ""
    common, share = COMMON_NAMES.get(label.motion, ("", 0.0))
    action = common if rng.random() < share else label.motion
    noun = _noun(label.plan, rng, card)
    form = rng.random()
    if label.motion == "idle" and form < 0.3:
        return negative(noun)
    return describe(noun, action) if form < 0.4 else captions(noun, action, rng, 1)[0]


def _noun(plan: str, rng: np.random.Generator, card: DataCard) -> str:
    """The plan's name, a synonym, a generic noun, or a noun of no training plan."""
    which = rng.random()
    if which < 0.15:
        return str(rng.choice(GENERIC_NOUNS))
    if which < 0.25:
        return str(rng.choice(unknown_nouns(card)))
    return plan if which < 0.65 else str(rng.choice([word for word, meaning in card.synonyms if meaning == plan]))


def unknown_nouns(card: DataCard) -> list[str]:
    """Nouns of creatures that training does not see, sorted."""
    nearest = dict(card.nearest)
    return sorted(word for word, plan in card.nouns.items() if plan not in card.plans or word in nearest)


def caption_tokenizer(words: Sequence[str] = SHIPPED_CARD.words) -> "PreTrainedTokenizerFast":
    """A tokenizer of whole words where known and letters where not, with punctuation apart, in lower case."""
    from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors
    from tokenizers.models import Unigram
    from transformers import PreTrainedTokenizerFast

    special = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]
    whole = [("▁" + word, -1.0) for word in words if len(word) > 1]
    whole += [("▁" + letter, -5.0) for letter in string.ascii_lowercase] + [(mark, -1.0) for mark in ".,"]
    letters = [(mark, -10.0) for mark in ("▁", *string.ascii_lowercase, *string.digits, *"-'")]
    core = Tokenizer(Unigram([*special, *whole, *letters], unk_id=2))
    core.normalizer = normalizers.Lowercase()
    core.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    core.post_processor = processors.TemplateProcessing(single=["$A", "</s>"], special_tokens=[("</s>", 1)])
    return PreTrainedTokenizerFast(tokenizer_object=core, pad_token="<pad>", eos_token="</s>", unk_token="<unk>")
