"""From a trajectory to the finished clip: what carries the body is held on the ground, by kinematics alone."""

import torch

from akd.contact.prepare import prepare
from akd.contact.support import put_on_ground, raise_above_ground, stand_on_skin
from akd.distill.assumptions import has_feet
from akd.distill.gait import KINEMATICS, lock_feet
from akd.distill.modifiers import Modified, modified
from akd.distill.task import Task
from akd.distill.trajectory import Trajectory
from akd.motion import Motion


@torch.no_grad()
def finish(task: Task, trajectory: Trajectory) -> Modified:
    """The finished clip of a task, with what the sentence says beside its action, and what of that had no effect."""
    return modified(task.rig, supported(task, trajectory), task.wish, trajectory.assumptions)


def supported(task: Task, trajectory: Trajectory) -> Motion:
    """The clip on what carries it: a gait with its timing and locked feet, anything else carried as its structure assumes.

    Feet that stand are locked, a body on any skin is put on what is low and slow, and one that nothing carries stays where
    it is, above the ground.
    """
    motion = task.clip(trajectory)
    support = trajectory.assumptions.support
    if not task.recipe.lock_feet:
        return motion
    if trajectory.assumptions.is_gait:
        return lock_feet(task.rig, trajectory, task.clip)
    if support == "any skin":
        # A body that its own wave carries slides along itself: only its height is settled.
        return put_on_ground(task.rig, motion) if trajectory.assumptions.travels else stand_on_skin(task.rig, motion)
    if support == "feet" and has_feet(task.rig):
        locked = prepare(task.rig, motion, KINEMATICS).motion
        motion = Motion(locked.pose.to(motion.pose.angles.dtype), locked.fps)
    return raise_above_ground(task.rig, motion, loops=task.loop)
