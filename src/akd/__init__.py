"""akd: a 3D character and a sentence in, an animation on the character's own skeleton out.

    import akd

    rig = akd.load_rig("fox.glb")          # or akd.auto_rig("statue.obj"), akd.make_character("a tall giraffe")
    result = akd.animate(rig, "a fox walking", loop=True)  # minutes on a laptop, with the prior inside the package
    print(result.sentence)
    result.save("runs/fox-walking")                            # animated.glb, preview.mp4, report.html, motion.npz

    akd.save(rig, result.motion, "fox-walking.bvh")            # .glb, .bvh, .npz, .mp4, .gif, .xml (MuJoCo)
    tracked = akd.track(rig, result.motion)                    # in a physics simulation
    numbers = akd.evaluate(rig, tracked.motion)                # contact, smoothness, gait

Lengths are in leg lengths ℓ, Y is up, the character faces +X, angles are radians and times seconds. Every name below is
imported when it is first used, so that ``import akd`` costs nothing.
"""

TYPE_CHECKING = False  # the name that type checkers know; importing typing takes long enough to be stopped with Ctrl-C

if TYPE_CHECKING:
    from typing import Any

    from akd.assets import load_motion as load_motion
    from akd.assets import load_rig as load_rig
    from akd.creatures.plan import Chain as Chain
    from akd.creatures.plan import Plan as Plan
    from akd.creatures.plan import Section as Section
    from akd.creatures.plans import PLANS as PLANS
    from akd.distill.estimators import ESTIMATORS as ESTIMATORS
    from akd.distill.recipe import Recipe as Recipe
    from akd.errors import AkdError as AkdError
    from akd.inspection import inspect_file as inspect_file
    from akd.measure.asked import asked_of as asked_of
    from akd.measure.evaluation import Evaluation as Evaluation
    from akd.measure.evaluation import evaluate as evaluate
    from akd.measure.judge import judge as judge
    from akd.mesh import Mesh as Mesh
    from akd.motion import Motion as Motion
    from akd.physics.track import track as track
    from akd.pipeline.animate import animate as animate
    from akd.pipeline.animate import animate_steps as animate_steps
    from akd.pipeline.creature import make_character as make_character
    from akd.pipeline.follow import follow as follow
    from akd.pipeline.job import Progress as Progress
    from akd.pipeline.kinds import KINDS as KINDS
    from akd.pipeline.results import Animation as Animation
    from akd.pipeline.save import save as save
    from akd.posespace.solving import Handle as Handle
    from akd.posespace.space import PoseSpace as PoseSpace
    from akd.prior.load import load_prior as load_prior
    from akd.rig import Rig as Rig
    from akd.rigging.rig_file import auto_rig as auto_rig
    from akd.skeleton import Pose as Pose
    from akd.skeleton import Skeleton as Skeleton

__version__ = "0.2.0"

_WHERE = {
    "load_rig": "assets", "auto_rig": "rigging.rig_file", "make_character": "pipeline.creature",
    "inspect_file": "inspection",
    "animate": "pipeline.animate", "animate_steps": "pipeline.animate", "Animation": "pipeline.results",
    "follow": "pipeline.follow",
    "Progress": "pipeline.job", "Recipe": "distill.recipe", "track": "physics.track", "evaluate": "measure.evaluation",
    "Evaluation": "measure.evaluation", "judge": "measure.judge",
    "asked_of": "measure.asked", "save": "pipeline.save", "load_motion": "assets", "PoseSpace": "posespace.space",
    "load_prior": "prior.load", "Rig": "rig", "Motion": "motion", "Pose": "skeleton", "Skeleton": "skeleton", "Mesh": "mesh",
    "Handle": "posespace.solving", "ESTIMATORS": "distill.estimators", "PLANS": "creatures.plans", "Plan": "creatures.plan",
    "Chain": "creatures.plan", "Section": "creatures.plan", "AkdError": "errors",
    "KINDS": "pipeline.kinds",
}  # fmt: skip
"""Public names, and the module that each comes from."""
__all__ = sorted(_WHERE)


def __getattr__(name: str) -> "Any":
    """Import a public name when it is first used."""
    from importlib import import_module

    if name not in _WHERE:
        raise AttributeError(f"akd has no {name!r}; it has {', '.join(__all__)}.")
    value = getattr(import_module(f"akd.{_WHERE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
