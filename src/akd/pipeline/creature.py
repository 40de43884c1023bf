"""`akd creature`: a character made from a sentence, moving by our own gaits and actions, as files and pictures."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from akd.assets import ANIMATION_SUFFIXES, check_seed, save_animation
from akd.creatures.action_list import ACTION_LIST
from akd.creatures.actions import ACTIONS
from akd.creatures.build import creature
from akd.creatures.captions import action_from_prompt
from akd.creatures.gaits import actions_for, gait_motion, gaits_for
from akd.creatures.plans import PLANS
from akd.creatures.wish import Wish, read_wish
from akd.creatures.words import character
from akd.errors import AkdError
from akd.files.video import PICTURE_ENDINGS, VIDEO_ENDINGS, contact_sheet, write_picture, write_video
from akd.files.writing import check_output
from akd.motion import Motion, thinned
from akd.render.preview import PreviewSettings, preview_frames
from akd.rig import Rig

SHEET_FRAMES = 12
MAX_CYCLES = 1000
"""Strides in a clip; a quarter of an hour of walking."""
SLOWER, FASTER = 0.65, 1.35
"""What "slowly" and "quickly" make of a gait's usual speed: clearly seen, and within what the gait can do."""


@dataclass(frozen=True, eq=False)
class Shown:
    """A character and its motion."""

    rig: Rig
    motion: Motion
    gait: str
    messages: tuple[str, ...]
    """What was understood only in part."""


def make_character(description: str, *, seed: int = 0) -> Rig:
    """A character made from words: species, colour, size, build. Another seed gives another individual.

        rig = akd.make_character("a tall giraffe")
    """
    check_seed(seed)
    rig, message = character(description, seed)
    return replace(rig, notes=(*rig.notes, message)) if message else rig


def make_creature(prompt: str, *, gait: str | None, seed: int, cycles: int) -> Shown:
    """The character a sentence describes, moving as asked: by the gait's name, else as the sentence says, else as it goes."""
    check_seed(seed)
    if not 1 <= cycles <= MAX_CYCLES:
        raise AkdError(f"A clip holds between 1 and {MAX_CYCLES} strides, not {cycles}: choose another --cycles.")
    rig, message = character(prompt, seed)
    wish = read_wish(prompt)
    words = ACTION_LIST.get(wish.action)
    chosen = gait or action_from_prompt(prompt) or (words.motion if words else "") or "walk"
    if chosen in ("walk", "run") and not rig.legs:
        chosen = next(iter(gaits_for(rig)), chosen)
    motion, ignored = _wished_motion(rig, chosen, wish, seed, cycles)
    messages = [message, None if gait else _other_motion(prompt, wish, chosen), _without_effect(ignored)]
    return Shown(rig, motion, chosen, tuple(text for text in messages if text))


def _wished_motion(rig: Rig, gait: str, wish: Wish, seed: int, cycles: int) -> tuple[Motion, list[str]]:
    """A motion with the side, speed and number of times that the sentence asks for, and what of these it cannot have."""
    asked, options = wish.modifiers(), dict[str, Any]()
    if "count" in asked and cycles == 1 and wish.count is not None and wish.count <= MAX_CYCLES:
        cycles = wish.count
        del asked["count"]
    if gait in ACTIONS and wish.side in ("left", "right"):
        options["side"] = wish.side
        del asked["side"]
    motion = gait_motion(rig, gait, seed=seed, cycles=cycles, **options)
    if "speed" in asked and gait not in ACTIONS:
        travelled = float((motion.pose.root_position[-1] - motion.pose.root_position[0]).norm())
        speed = travelled / motion.duration * (SLOWER if wish.speed == "slow" else FASTER)
        motion = gait_motion(rig, gait, seed=seed, cycles=cycles, speed=speed)
        del asked["speed"]
    return motion, [*asked.values(), *([repr(wish.then.text.strip())] if wish.then else [])]


def _other_motion(prompt: str, wish: Wish, chosen: str) -> str | None:
    """What to say where the sentence asks for an action that our formulas do not have."""
    words = ACTION_LIST.get(wish.action)
    plain = action_from_prompt(prompt) is not None and " " not in wish.said
    if plain or (words and words.motion) or not wish.said:
        return None
    name = wish.action.replace("_", " ") or wish.said
    return f"There is no formula for {name!r}: the motion is {chosen!r}. Try akd animate."


def _without_effect(ignored: list[str]) -> str | None:
    return f"Not understood, so without effect: {', '.join(ignored)}." if ignored else None


def write_creature(
    shown: Shown, out: Path, *, sheet: Path | None = None, preview: Path | None = None, force: bool = False,
    watch: Callable[[Iterable, int], Iterable] = lambda frames, count: frames,
) -> list[Path]:  # fmt: skip
    """Write the animated character, and a sheet of frames and a video if prompt; returns what was written.

    ``watch`` is handed the frames of the video and their number, to show how far it is.
    """
    pictures = [path for path in (sheet, preview) if path is not None]
    for path, endings in ((out, ANIMATION_SUFFIXES), (sheet, PICTURE_ENDINGS), (preview, VIDEO_ENDINGS)):
        if path is not None:
            check_output(path, force=force, endings=endings)
    save_animation(shown.rig, shown.motion, out, name=shown.gait, force=force)
    if sheet is not None:
        frames = preview_frames(shown.rig, thinned(shown.motion, SHEET_FRAMES), PreviewSettings(width=320, height=240))
        write_picture(sheet, contact_sheet(torch.stack(list(frames)), columns=4))
    if preview is not None:
        pictures_of_motion = watch(preview_frames(shown.rig, shown.motion), shown.motion.frame_count)
        write_video(preview, pictures_of_motion, shown.motion.fps)
    return [out, *pictures]


def creature_table() -> Any:
    """All kinds of character with what they can do."""
    from rich.table import Table

    table = Table("character", "gaits", "actions")
    for name in PLANS:
        rig = creature(name, 0)
        table.add_row(name, ", ".join(gaits_for(rig)), ", ".join(actions_for(rig)))
    return table
