"""Samples of an image-to-video prior for twenty sentences, not chosen: ``python -m experiments.prior_samples FOLDER --out DIR``.

One sheet from the first frame of a body at ease that no training saw, one from the text alone: every second frame of each film.
"""

from dataclasses import dataclass
from pathlib import Path

import torch
import tyro
from PIL import Image, ImageDraw

from akd.creatures.action_phrases import ACTION_VERBS
from akd.creatures.build import creature
from akd.creatures.captions import describe_with
from akd.creatures.neutral import neutral_pose
from akd.files.video import to_bytes
from akd.motion import Motion
from akd.prior.load import load_prior
from akd.prior.prior import VideoPrior
from akd.reconstruct.skinned import skinned_splats
from akd.render.camera import View
from akd.render.film import film
from akd.rig import Rig
from akd.skeleton import Pose
from akd.training.data_card import FIRST_HELD_OUT_SEED

SENTENCES = {
    "human": (
        "walk", "run", "jump", "kick", "punch", "wave_hand", "sit_down", "stand_up", "dance", "throw", "pick_up", "bow", "die",
    ),
    "dog": ("walk", "run", "jump", "eat", "attack", "die", "idle"),
}  # fmt: skip
"""Actions of each body."""
VIEW = View(60.0, 20.0, 1.1)
SIDE, NAME_WIDTH, COLUMNS = 64, 70, 2
"""Of a picture and of the names beside them [px], and of the sheet."""


@dataclass(frozen=True)
class Settings:
    """What is sampled."""

    name: tyro.conf.Positional[str]
    """A prior's folder."""
    out: Path = Path("runs/samples")
    steps: int = 20
    guidance: float = 4.0
    seed: int = 1


@torch.no_grad()
def at_ease(rig: Rig, prior: VideoPrior) -> torch.Tensor:
    """A picture of the body as it stands before it is told anything, as the prior's films show it."""
    place = torch.as_tensor(rig.skeleton.positions[0]).float()
    upright = torch.tensor((1.0, 0.0, 0.0, 0.0))
    pose = Pose(place.expand(2, 3), upright.expand(2, 4), neutral_pose(rig).float().expand(2, -1, -1))
    return film(rig.skeleton, Motion(pose, prior.film.rate(rig.leg_metres)), skinned_splats(rig), prior.film, VIEW)[:1]


def sheet(rows: list[tuple[str, torch.Tensor]]) -> Image.Image:
    """Films as strips with their names, in columns."""
    width = NAME_WIDTH + SIDE * len(rows[0][1])
    page = Image.new("RGB", (COLUMNS * width, SIDE * -(-len(rows) // COLUMNS)), "white")
    draw = ImageDraw.Draw(page)
    for number, (name, frames) in enumerate(rows):
        x, y = number % COLUMNS * width, number // COLUMNS * SIDE
        draw.text((x + 2, y + SIDE // 3), name.replace(" ", "\n"), fill="black")
        page.paste(Image.fromarray(to_bytes(torch.cat(list(frames), 1))), (x + NAME_WIDTH, y))
    return page.quantize(128)


def main(settings: Settings) -> None:
    """Sample and write both sheets."""
    prior = load_prior(settings.name)
    settings.out.mkdir(parents=True, exist_ok=True)
    drawn: dict[str, list[tuple[str, torch.Tensor]]] = {"first-frame": [], "text": []}
    for noun, actions in SENTENCES.items():
        given = prior.condition(at_ease(creature(noun, FIRST_HELD_OUT_SEED), prior), prior.film.frames)
        for action in actions:
            sentence = describe_with(noun, ACTION_VERBS[action])
            for name, condition in (("first-frame", given), ("text", None)):
                video = prior.sample(
                    sentence, steps=settings.steps, guidance=settings.guidance, seed=settings.seed, condition=condition
                )
                drawn[name].append((f"{noun} {action}", video[0, ::2]))
    for name, rows in drawn.items():
        sheet(rows).save(settings.out / f"prior-{name}.png", optimize=True)


if __name__ == "__main__":
    main(tyro.cli(Settings))
