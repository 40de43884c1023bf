"""Commands on the poses of a character: sample, solve, project, score, invert, walk, limits."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from akd.cli.console import AsJson, console, print_json
from akd.errors import AkdError

if TYPE_CHECKING:
    from akd.posespace.solving import Handle
    from akd.posespace.space import PoseSpace
    from akd.skeleton import Pose

Sub = tyro.conf.subcommand
SHEET_POSES = 16
"""Most poses on a contact sheet."""


@dataclass(frozen=True)
class Character:
    """Whose poses."""

    character: Annotated[str, tyro.conf.Positional]
    """A rigged file, a mesh (rigged automatically), or a character of our own in words."""
    weights: Path | None = None
    """Weights of your own training; by default those of the package."""

    def space(self) -> "PoseSpace":
        from akd.creatures.words import character
        from akd.posespace.network import SHIPPED
        from akd.posespace.space import PoseSpace
        from akd.rigging.rig_file import rig_file

        path = Path(self.character)
        rig = rig_file(path) if path.suffix else character(self.character, 0)[0]
        return PoseSpace.build(rig, weights=self.weights or SHIPPED)


@dataclass(frozen=True)
class Result:
    """Where poses go."""

    out: Path
    """A .glb with one pose per keyframe or the clip, or an .npz that other commands read."""
    sheet: Path | None = None
    """A picture of the poses; by default beside the output."""
    force: bool = False
    """Overwrite outputs that exist."""

    @property
    def picture(self) -> Path:
        return self.sheet or self.out.with_suffix(".png")

    def check(self) -> None:
        """Say before the work whether its result can be written."""
        from akd.assets import check_output

        if self.out.suffix not in (".npz", ".glb", ".bvh"):
            raise AkdError(f"Poses are written as .glb, .bvh or .npz, not {self.out.suffix or 'without an ending'!r}.")
        for path in (self.out, self.picture):
            check_output(path, force=self.force)

    def write(self, space: "PoseSpace", pose: "Pose", fps: float = 1.0, name: str = "poses") -> None:
        """Write the poses as a clip, and a contact sheet of some of them."""
        from akd.assets import save_animation
        from akd.files.motion_npz import write_motion
        from akd.motion import Motion

        motion = Motion(pose.detach(), fps)
        if self.out.suffix == ".npz":
            write_motion(self.out, space.rig.skeleton, motion)
        else:
            save_animation(space.rig, motion, self.out, name=name, fps=max(fps, 30.0), force=True)
        write_sheet(space, pose, self.picture)
        console().print(f"Wrote {self.out} and {self.picture}")


@dataclass(frozen=True)
class Sample:
    """Plausible poses.

    Example: akd pose sample fox.glb --count 16 --out poses.glb
    """

    who: Character
    to: Result
    count: int = 16
    seed: int = 0
    temperature: float = 1.0
    """Below 1 stays near the usual, above 1 dares more."""
    repair: bool = True
    """Pull apart what runs into itself, and replace what cannot be repaired."""

    def run(self) -> None:
        self.to.check()
        space = self.who.space()
        poses = space.sample(self.count, seed=self.seed, temperature=self.temperature, repair=self.repair)
        self.to.write(space, space.pose(poses))


@dataclass(frozen=True)
class Solve:
    """Put joints where you want them; the rest of the body follows plausibly. Places are on the stage, in leg lengths.

    Example: akd pose solve fox.glb --handles front_left_paw=0.8,0.4,-0.2 head@2,1,0 --out reach.glb
    """

    who: Character
    to: Result
    handles: tuple[str, ...]
    """JOINT=x,y,z puts a joint there; JOINT@x,y,z makes its bone point there; JOINT~w,x,y,z turns it."""
    count: int = 1
    """How many different solutions."""
    tolerance: float = 0.01
    """Larger misses are reported [ℓ]."""
    exact: bool = True
    """Meet the handles exactly; --no-exact stays closer to the usual."""
    free_root: bool = True
    """Let the whole body move; --no-free-root keeps the root in its place."""

    def run(self) -> None:
        from akd.posespace.representation import vectors_to_pose

        self.to.check()
        space = self.who.space()
        found = space.solve(
            tuple(read_handle(text) for text in self.handles), count=self.count, free_root=self.free_root, exact=self.exact
        )
        score = space.score(found.vectors)
        for number, (error, percentile) in enumerate(zip(found.error.tolist(), score.percentile.tolist(), strict=True)):
            reached = "" if error <= self.tolerance else ": out of reach, this is the nearest"
            console().print(f"solution {number}: misses by {error:.4f}{reached}; percentile {percentile:.0f}")
        self.to.write(space, vectors_to_pose(found.vectors, found.root))


@dataclass(frozen=True)
class Project:
    """Pull broken poses back to plausible ones.

    Example: akd pose project fox.glb --poses broken.npz --out mended.glb
    """

    who: Character
    to: Result
    poses: Path
    """An .npz of poses or of a motion of this character."""
    strength: float = 0.3
    """How much may change, 0 to 1."""

    def run(self) -> None:
        from akd.files.motion_npz import read_motion
        from akd.posespace.representation import pose_to_vectors

        self.to.check()
        space = self.who.space()
        motion = read_motion(self.poses, space.rig.skeleton)
        mended = space.project(pose_to_vectors(motion.pose), strength=self.strength)
        self.to.write(space, space.pose(mended), motion.fps)


@dataclass(frozen=True)
class ScorePoses:
    """Is a pose good or broken, and which joint is to blame? Of an .npz, or of a clip in the character's own file.

    Example: akd pose score fox.glb --clip Walk
    """

    who: Character
    poses: Path | None = None
    clip: str | None = None
    """Name of a clip in the file."""
    sheet: Path | None = None
    """A picture to write of the poses."""
    as_json: AsJson = False

    def run(self) -> None:
        from rich.table import Table

        from akd.posespace.representation import pose_to_vectors

        space = self.who.space()
        pose = _motion_of(space, self.poses, self.clip).pose
        vectors = pose_to_vectors(pose)
        if self.sheet is not None:
            write_sheet(space, pose, self.sheet)
        score, faults = space.score(vectors), space.faults(vectors)
        valid = faults.valid & score.plausible
        names = space.rig.skeleton.names
        rows = [
            {"pose": k, "percentile": round(float(score.percentile[k]), 1), "valid": bool(valid[k]),
             "worst_joint": names[int(score.worst_joint[k])], "depth": round(float(faults.depth[k]), 3)}
            for k in range(len(vectors))
        ]  # fmt: skip
        if self.as_json:
            print_json(rows)
            return
        table = Table("pose", "percentile", "valid", "worst joint", "depth ℓ", title=space.rig.name)
        for row in rows:
            table.add_row(*(str(value) for value in row.values()))
        console().print(table)


@dataclass(frozen=True)
class Invert:
    """The noise behind poses, and back: decode turns it into the poses again, of this or another character's joints.

    Example: akd pose invert fox.glb --poses poses.npz --noise noise.npz
    """

    who: Character
    poses: Path
    noise: Path
    """The .npz to write; a picture of the poses that it decodes to goes beside it."""
    force: bool = False
    """Overwrite outputs that exist."""

    def run(self) -> None:
        import numpy as np

        from akd.assets import check_output
        from akd.files.motion_npz import read_motion
        from akd.posespace.representation import pose_to_vectors

        picture = self.noise.with_suffix(".png")
        for path in (self.noise, picture):
            check_output(path, force=self.force)
        space = self.who.space()
        noise = space.invert(pose_to_vectors(read_motion(self.poses, space.rig.skeleton).pose))
        np.savez_compressed(self.noise, noise=noise.numpy(), joints=np.array(space.rig.skeleton.names))
        write_sheet(space, space.pose(space.decode(noise)), picture)
        console().print(f"Wrote {self.noise} and {picture}")


@dataclass(frozen=True)
class Decode:
    """Poses from the noise that invert wrote.

    Example: akd pose decode fox.glb --noise noise.npz --out poses.glb
    """

    who: Character
    to: Result
    noise: Path

    def run(self) -> None:
        import numpy as np
        import torch

        self.to.check()
        space = self.who.space()
        with np.load(self.noise) as stored:
            noise = torch.from_numpy(stored["noise"])
        if noise.shape[1:] != space.reference_poses.shape[1:]:
            joints = space.rig.skeleton.joint_count
            raise AkdError(f"{self.noise} is noise for {noise.shape[1]} joints, but the character has {joints}.")
        self.to.write(space, space.pose(space.decode(noise)))


@dataclass(frozen=True)
class Walk:
    """A smooth clip through keyframes that stays plausible between them.

    Example: akd pose walk fox.glb --keys poses.npz --seconds 3 --out clip.glb
    """

    who: Character
    to: Result
    keys: Path
    """An .npz of poses, in order."""
    seconds: float = 3.0
    way: Literal["string", "noise", "straight"] = "string"
    """string: a path in the plausible set; noise: the paper's interpolation of noise; straight: of joint rotations."""

    def run(self) -> None:
        from akd.files.motion_npz import read_motion
        from akd.posespace.representation import pose_to_vectors

        self.to.check()
        space = self.who.space()
        keys = pose_to_vectors(read_motion(self.keys, space.rig.skeleton).pose)
        motion = space.walk(keys, seconds=self.seconds, method=self.way)
        self.to.write(space, motion.pose, motion.fps, "walk")


@dataclass(frozen=True)
class Limits:
    """Learned joint limits, as .json or .csv.

    Example: akd pose limits fox.glb --out limits.csv
    """

    who: Character
    out: Path

    def run(self) -> None:
        from akd.posespace.limits import write_limits

        write_limits(self.out, self.who.space().limits())
        console().print(f"Wrote {self.out}")


@dataclass(frozen=True)
class Finish:
    """Let a video model finish a rendered clip: it is noised to a level and the model takes the noise away.

    Example: akd pose finish fox.glb --clip Walk --sentence "a fox walking" --out finished.mp4
    """

    who: Character
    sentence: str
    out: Path
    """The .mp4 or .gif to write; picture, mask and depth of the proxy go beside it."""
    poses: Path | None = None
    clip: str | None = None
    prior: str = "embedded"
    strength: float = 0.6
    """Share of noise: little keeps the poses, much keeps only their rough course."""

    def run(self) -> None:
        from akd.files.video import write_video
        from akd.motion import resample
        from akd.pipeline.pose_film import finish, proxy_of
        from akd.prior.load import load_prior

        space, prior = self.who.space(), load_prior(self.prior)
        motion = resample(_motion_of(space, self.poses, self.clip), prior.film.rate(space.rig.leg_metres))
        if motion.frame_count < prior.film.frames:
            raise AkdError(
                f"The prior watches {prior.film.frames} frames, and this clip has {motion.frame_count}: make it longer."
            )
        motion = type(motion)(motion.pose[: prior.film.frames], motion.fps)
        proxy = proxy_of(space.rig, motion, prior.film)
        finished = finish(prior, proxy.video, self.sentence, strength=self.strength)
        parts = {"": finished, "-proxy": proxy.video, "-mask": proxy.mask[..., None].expand_as(proxy.video),
                 "-depth": proxy.depth[..., None].expand_as(proxy.video)}  # fmt: skip
        for ending, video in parts.items():
            write_video(self.out.with_stem(self.out.stem + ending), video, prior.film.fps)
        console().print(f"Wrote {self.out}, and its proxy, mask and depth beside it")


def write_sheet(space: "PoseSpace", pose: "Pose", path: Path) -> None:
    """A picture of some of the poses."""
    import torch

    from akd.render.sheets import pose_sheet

    chosen = torch.linspace(0, len(pose.angles) - 1, min(SHEET_POSES, len(pose.angles))).round().long()
    pose_sheet(space.rig, pose[chosen], path)


def read_handle(text: str) -> "Handle":
    """A handle from the way it is written on the command line."""
    from akd.posespace.solving import Handle

    for sign, count in (("=", 3), ("@", 3), ("~", 4)):
        joint, found, numbers = text.rpartition(sign)
        if not found:
            continue
        try:
            values = [float(number) for number in numbers.split(",")]
        except ValueError:
            values = []
        if len(values) != count:
            raise AkdError(f"{text!r} needs {count} numbers after {sign!r}, as in {joint or 'hand'}{sign}{'1,' * (count - 1)}1.")
        if sign == "~":
            return Handle(joint, rotation=(values[0], values[1], values[2], values[3]))
        place = (values[0], values[1], values[2])
        return Handle(joint, position=place) if sign == "=" else Handle(joint, look_at=place)
    raise AkdError(f"A handle is JOINT=x,y,z, JOINT@x,y,z or JOINT~w,x,y,z, not {text!r}.")


def _motion_of(space: "PoseSpace", poses: Path | None, clip: str | None):
    """The motion in a file of poses, or a clip of the character's own file."""
    from akd.character.clips import read_clip
    from akd.files.motion_npz import read_motion

    if (poses is None) == (clip is None):
        raise AkdError("Say which poses: either --poses with an .npz, or --clip with the name of a clip in the file.")
    return read_motion(poses, space.rig.skeleton) if poses is not None else read_clip(space.rig, str(clip)).motion


Job = (
    Annotated[Sample, Sub("sample")] | Annotated[Solve, Sub("solve")] | Annotated[Project, Sub("project")]
    | Annotated[ScorePoses, Sub("score")] | Annotated[Invert, Sub("invert")] | Annotated[Decode, Sub("decode")]
    | Annotated[Walk, Sub("walk")] | Annotated[Limits, Sub("limits")] | Annotated[Finish, Sub("finish")]
)  # fmt: skip


def pose(job: tyro.conf.OmitSubcommandPrefixes[tyro.conf.OmitArgPrefixes[Job]]) -> None:
    """Plausible poses of a character: sample, solve, project, score, invert, walk, limits."""
    job.run()
