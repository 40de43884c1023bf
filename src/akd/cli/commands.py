"""All commands by name."""

from collections.abc import Callable
from typing import Any

from akd.cli import batch, characters, follow, pose, posespace, prior, retarget, track
from akd.cli.animate import animate
from akd.cli.compare import compare
from akd.cli.doctor import doctor

COMMANDS: dict[str, Callable[..., Any]] = {
    "animate": animate, "creature": characters.creature, "rig": characters.rig, "inspect": characters.inspect,
    "evaluate": characters.evaluate, "convert": characters.convert, "splat": characters.splat, "track": track.track,
    "retarget": retarget.retarget, "picture": follow.picture, "follow": follow.follow, "prior": prior.prior,
    "pose": pose.pose, "posespace": posespace.posespace, "batch": batch.batch, "compare": compare, "doctor": doctor,
}  # fmt: skip
