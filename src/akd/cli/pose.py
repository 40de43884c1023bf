"""Commands on the poses of a character: sample, solve, project, score, invert, decode, walk, limits, finish."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from akd.cli.console import PLAIN, AsJson, console, print_json
from akd.errors import AkdError
from akd.prior.hardware import Hardware

if TYPE_CHECKING:
    from akd.motion import Motion
    from akd.posespace.denoiser import Poses
    from akd.posespace.solving import Handle
    from akd.posespace.space import PoseSpace
    from akd.rig import Rig

Sub = tyro.conf.subcommand
MAX_SEED = 2**32 - 1
"""Largest seed that torch and numpy both take."""


@dataclass(frozen=True)
class Character:
    """The character."""

    character: Annotated[str, tyro.conf.Positional]
    """A rigged file, a mesh (it is rigged automatically), a bare skeleton, or a character in words such as "a tall giraffe"."""
    weights: Path | None = None
    """Weights that `akd posespace export` wrote; by default those of the package."""
    like: str = "clips"
    """Poses that the character is known to take, and that others should be like: an .npz of poses or of a motion; `clips`,
    those of the clips in its own file, if it has some; or `none`."""

    @property
    def file(self) -> Path | None:
        """The character's file; none for one in words."""
        path = Path(self.character)
        return path if path.suffix else None

    def space(self, *, judged_clip: str | None = None) -> "PoseSpace":
        """The pose space of the character; a clip that is to be judged is no example."""
        from akd.posespace.network import SHIPPED, load_network
        from akd.posespace.space import PoseSpace

        weights = self.weights or SHIPPED
        network = load_network(weights)  # before the character is read, which takes longer
        rig = self._rig()
        like = self._examples(rig, judged_clip) if network.config.example_blocks or self._names_file else None
        return PoseSpace.build(rig, weights=weights, like=like)

    @property
    def _names_file(self) -> bool:
        """Whether the user gave poses, rather than leaving it to the program."""
        return self.like not in ("clips", "none")

    def _rig(self) -> "Rig":
        from akd.assets import read_file, rig_from
        from akd.creatures.words import character
        from akd.rigging.rig_file import complete_rig

        if self.file is None:
            return character(self.character, 0)[0]
        content = read_file(self.file)
        return complete_rig(content) if content.mesh.vertex_count else rig_from(content)

    def _examples(self, rig: "Rig", judged_clip: str | None) -> "Poses | None":
        """The poses that the character is known to take."""
        from akd.pipeline.save import read_poses
        from akd.posespace.examples import own_clip_poses
        from akd.posespace.representation import pose_to_vectors

        if self._names_file:
            return pose_to_vectors(read_poses(rig, Path(self.like), None).pose).float()
        return own_clip_poses(rig, without=judged_clip) if self.like == "clips" else None


@dataclass(frozen=True)
class PoseOutput:
    """The files to write."""

    out: Path
    """A .glb or .bvh (a clip, one pose per second), or an .npz that the other commands read."""
    sheet: Path | None = None
    """A picture of up to 16 of the poses; by default beside the output, as .png."""
    force: bool = False
    """Overwrite files that exist."""

    @property
    def picture(self) -> Path:
        return self.sheet or self.out.with_suffix(".png")

    def check(self, character: Character) -> None:
        """Say before the work whether its result can be written."""
        from akd.pipeline.save import check_pose_outputs

        check_pose_outputs(self.out, self.picture, force=self.force, source=character.file)

    def write(self, space: "PoseSpace", motion: "Motion", name: str = "poses") -> None:
        """Write the poses and their contact sheet."""
        from akd.pipeline.save import write_poses

        _print_written(write_poses(space.rig, motion, self.out, self.picture, name=name))


@dataclass(frozen=True)
class Sample:
    """Draw random plausible poses.

    The same seed gives the same poses. Poses in which the body runs into itself are repaired.

    Example: akd pose sample fox.glb --count 16 --out poses.glb
    """

    of: Character
    to: PoseOutput
    count: int = 16
    """How many poses, at most 1,024."""
    seed: int = 0
    """Another seed, other poses."""
    temperature: float = 1.0
    """How varied they are: below 1 closer to the mean pose, above 1 further away; up to 10."""
    repair: bool = True
    """Repair poses that run into themselves, and replace those that cannot be repaired."""

    def run(self) -> None:
        from akd.motion import Motion

        if not 0 <= self.seed <= MAX_SEED:
            raise AkdError(f"A seed is a number from 0 to {MAX_SEED}, not {self.seed}.")
        self.to.check(self.of)
        space = self.of.space()
        poses = space.sample(self.count, seed=self.seed, temperature=self.temperature, repair=self.repair)
        self.to.write(space, Motion(space.pose(poses), 1.0))


@dataclass(frozen=True)
class Solve:
    """Inverse kinematics: put joints where you want them, and the rest of the body follows plausibly.

    Positions are stage coordinates in leg lengths: x forward, y up from the ground, z to the right. `akd inspect` lists the
    joints of a file. With --frame a finished clip is edited there: the frames around follow, the rest stays.

    Example: akd pose solve fox.glb --handles front_left_paw=0.8,0.4,-0.2 head@2,1,0 --out reach.glb
    Example: akd pose solve fox.glb --clip Walk --frame 20 --handles head=1.4,1.1,0 --out ducking.glb
    """

    of: Character
    to: PoseOutput
    handles: tuple[str, ...]
    """JOINT=x,y,z puts a joint there; JOINT@x,y,z points its bone there; JOINT~w,x,y,z rotates it (a quaternion)."""
    count: int = 1
    """How many solutions, each from another start, at most 96."""
    tolerance: float = 0.01
    """Handles that are missed by more than this are reported as out of reach [leg lengths]."""
    exact: bool = True
    """Meet the handles exactly; --no-exact stays closer to what is plausible."""
    free_root: bool = True
    """Let the whole body move; --no-free-root keeps the root in its place."""
    frame: int | None = None
    """The frame of a clip to edit, from 0."""
    poses: Path | None = None
    """The clip to edit: an .npz of a motion of this character …"""
    clip: str | None = None
    """… or the name of a clip in the character's file."""
    reach: float = 0.4
    """Seconds before and after the frame over which an edit fades out."""
    pins: tuple[str, ...] | None = None
    """Joints that stay on their paths while a clip is edited; by default the feet that no handle moves."""

    def run(self) -> None:
        from akd.motion import Motion
        from akd.posespace.representation import vectors_to_pose, without_heading
        from akd.posespace.solving import Handle

        if not 0 <= self.tolerance < float("inf"):
            raise AkdError(f"The tolerance is a length of at least 0, not {self.tolerance}.")
        if self.frame is None and (self.poses is not None or self.clip is not None):
            raise AkdError("Say with --frame which frame of the clip to edit.")
        handles = tuple(Handle.parse(text) for text in self.handles)
        self.to.check(self.of)
        space = self.of.space()
        if self.frame is not None:
            self._edit(space, handles, self.frame)
            return
        found = space.solve(handles, count=self.count, free_root=self.free_root, exact=self.exact)
        percentiles = space.score(without_heading(found.vectors)).percentile.tolist()
        for number, (error, percentile) in enumerate(zip(found.error.tolist(), percentiles, strict=True)):
            reached = "" if error <= self.tolerance else ": out of reach, this is the nearest"
            console().print(f"solution {number}: misses by {error:.4f}{reached}; percentile {percentile:.0f}", **PLAIN)
        self.to.write(space, Motion(vectors_to_pose(found.vectors, found.root), 1.0))

    def _edit(self, space: "PoseSpace", handles: "tuple[Handle, ...]", frame: int) -> None:
        from akd.pipeline.save import read_poses

        motion = read_poses(space.rig, self.poses, self.clip)
        edit = space.edit(motion, frame, handles, reach=self.reach, pins=self.pins)
        reached = "" if edit.error <= self.tolerance else ": out of reach, this is the nearest"
        kept = f"; {', '.join(edit.pinned)} within {edit.pin_error:.3f} of their paths" if edit.pinned else ""
        console().print(
            f"frame {frame}: misses by {edit.error:.4f}{reached}; percentile {edit.percentile:.0f}{kept}", **PLAIN
        )
        self.to.write(space, edit.motion, "edited")


@dataclass(frozen=True)
class Project:
    """Move broken poses to plausible ones nearby.

    Example: akd pose project fox.glb --poses broken.npz --out mended.glb
    """

    of: Character
    to: PoseOutput
    poses: Path
    """An .npz of poses or of a motion of this character."""
    strength: float = 0.3
    """How much may change, between 0 and 1."""

    def run(self) -> None:
        from akd.motion import Motion
        from akd.pipeline.save import read_poses
        from akd.posespace.representation import pose_to_vectors

        self.to.check(self.of)
        space = self.of.space()
        motion = read_poses(space.rig, self.poses, None)
        mended = space.project(pose_to_vectors(motion.pose), strength=self.strength)
        self.to.write(space, Motion(space.pose(mended), motion.fps))


@dataclass(frozen=True)
class ScorePoses:
    """How plausible is each pose, is it valid, and which joint is the least plausible?

    The percentile says how many random poses of the same character are less plausible: 50 is ordinary, near 0 is rare. A pose
    is valid if it is not far more unusual than all of those, no joint is out of its range, and the body does not run into itself.

    Example: akd pose score fox.glb --clip Walk
    """

    of: Character
    poses: Path | None = None
    """An .npz of poses or of a motion of this character …"""
    clip: str | None = None
    """… or the name of a clip in the character's file."""
    sheet: Path | None = None
    """A picture to write of up to 16 of the poses."""
    force: bool = False
    """Overwrite a picture that exists."""
    as_json: AsJson = False

    def run(self) -> None:
        from akd.pipeline.save import check_sheet, read_poses, write_pose_sheet
        from akd.posespace.representation import pose_to_vectors

        if self.sheet is not None:
            check_sheet(self.sheet, force=self.force)
        space = self.of.space(judged_clip=self.clip)
        pose = read_poses(space.rig, self.poses, self.clip).pose
        verdicts = space.verdicts(pose_to_vectors(pose))
        if self.sheet is not None:
            write_pose_sheet(space.rig, pose, self.sheet)
        if self.as_json:
            print_json([verdict._asdict() for verdict in verdicts])
        else:
            _print_table(("pose", "percentile", "valid", "worst joint", "depth ℓ"), verdicts, space.rig.name)


@dataclass(frozen=True)
class Invert:
    """Find the noise that the pose space turns into given poses; `akd pose decode` turns it back.

    Noise can be mixed, or decoded on another character with as many joints.

    Example: akd pose invert fox.glb --poses poses.npz --noise noise.npz
    """

    of: Character
    poses: Path
    """An .npz of poses or of a motion of this character."""
    noise: Path
    """The .npz to write; a picture of the poses that it decodes to goes beside it."""
    force: bool = False
    """Overwrite files that exist."""

    def run(self) -> None:
        from akd.assets import check_output
        from akd.pipeline.save import read_poses, write_pose_sheet
        from akd.posespace.noise_file import check_noise_name, write_noise
        from akd.posespace.representation import pose_to_vectors

        check_noise_name(self.noise)
        picture = self.noise.with_suffix(".png")
        for path in (self.noise, picture):
            check_output(path, force=self.force)
        space = self.of.space()
        noise = space.invert(pose_to_vectors(read_poses(space.rig, self.poses, None).pose))
        write_noise(self.noise, space.rig.skeleton, noise)
        _print_written([self.noise, *write_pose_sheet(space.rig, space.pose(space.decode(noise)), picture)])


@dataclass(frozen=True)
class Decode:
    """Turn the noise that `akd pose invert` wrote into poses.

    Example: akd pose decode fox.glb --noise noise.npz --out poses.glb
    """

    of: Character
    to: PoseOutput
    noise: Path
    """An .npz that `akd pose invert` wrote."""

    def run(self) -> None:
        from akd.motion import Motion
        from akd.posespace.noise_file import read_noise

        self.to.check(self.of)
        space = self.of.space()
        noise = read_noise(self.noise, space.rig.skeleton)
        self.to.write(space, Motion(space.pose(space.decode(noise)), 1.0))


@dataclass(frozen=True)
class Walk:
    """Make a smooth clip through keyframes; the poses between them are plausible, too.

    Example: akd pose walk fox.glb --keys poses.npz --seconds 3 --out clip.glb
    """

    of: Character
    to: PoseOutput
    keys: Path
    """An .npz of poses, in order, at least two."""
    seconds: float = 3.0
    """Length of the clip."""
    fps: float = 30.0
    """Frames per second."""
    ease: Literal["ends", "keys", "none"] = "ends"
    """Where the clip comes to rest: at its two ends, at every keyframe, or nowhere."""
    lock_feet: bool = True
    """Feet that stand at one keyframe and at the next stay where they are or make a step; the body goes along."""
    method: Annotated[Literal["string", "noise", "straight"], tyro.conf.arg(aliases=["--way"])] = "string"
    """string: the string method, a path through plausible poses; noise: interpolation of their noise, as in ViPS;
    straight: interpolation of joint rotations."""

    def run(self) -> None:
        from akd.pipeline.save import read_poses
        from akd.posespace.representation import pose_to_vectors

        self.to.check(self.of)
        space = self.of.space()
        keys = pose_to_vectors(read_poses(space.rig, self.keys, None).pose)
        clip = space.walk(
            keys, seconds=self.seconds, fps=self.fps, method=self.method, easing=self.ease, lock_feet=self.lock_feet
        )
        self.to.write(space, clip, "walk")


@dataclass(frozen=True)
class Limits:
    """Write the learned limits of every joint, in degrees: twist about the bone and two swings across it.

    Example: akd pose limits fox.glb --out limits.csv
    """

    of: Character
    out: Path
    """A .json or .csv."""
    force: bool = False
    """Overwrite a file that exists."""

    def run(self) -> None:
        from akd.assets import check_output
        from akd.posespace.validity import check_limits_name, write_limits

        check_limits_name(self.out)
        check_output(self.out, force=self.force)
        write_limits(self.out, self.of.space().limits())
        _print_written([self.out])


@dataclass(frozen=True)
class Finish:
    """Let a video model finish a rendered clip: the film is noised, and the model takes the noise away.

    Example: akd pose finish fox.glb --clip Walk --sentence "a fox walking" --out finished.mp4
    """

    of: Character
    sentence: str
    """What the film shows."""
    out: Path
    """The .mp4 or .gif to write; the rendered film (-proxy), its mask (-mask) and depth (-depth) go beside it."""
    poses: Path | None = None
    """An .npz of a motion of this character …"""
    clip: str | None = None
    """… or the name of a clip in the character's file."""
    prior: str = "embedded"
    """The video model: embedded, a folder, or a name on the hub."""
    strength: float = 0.6
    """Share of noise, above 0 and at most 1: little keeps the poses, much keeps only the rough course of the motion."""
    hardware: Hardware = field(default_factory=Hardware)
    force: bool = False
    """Overwrite files that exist."""

    def run(self) -> None:
        from akd.assets import check_output
        from akd.files.video import check_video_name, write_video
        from akd.pipeline.pose_film import finish_clip
        from akd.pipeline.save import read_poses
        from akd.prior.load import load_prior

        names = {part: self.out.with_stem(self.out.stem + ending) for part, ending in FINISHED_PARTS.items()}
        check_video_name(self.out)
        for path in names.values():
            check_output(path, force=self.force)
        space, prior = self.of.space(), load_prior(self.prior, **vars(self.hardware), way_back=False, tell=console().print)
        motion = read_poses(space.rig, self.poses, self.clip)
        videos = finish_clip(prior, space.rig, motion, self.sentence, strength=self.strength)
        for part, video in videos.items():
            write_video(names[part], video, prior.film.fps)
        console().print(f"Wrote {self.out}, and its proxy, mask and depth beside it", **PLAIN)


@dataclass(frozen=True)
class Film(Character):  # and no field of it, because then its name would come second on the command line
    """Film poses as a control film (depths, a mask or coloured bones), which `akd prior sample --control` follows.

    Example: akd pose film fox.glb walk.npz --control depth --out control.mp4
    """

    poses: Annotated[Path | None, tyro.conf.Positional] = None
    """An .npz of a motion of this character …"""
    clip: str | None = None
    """… or the name of a clip in the character's file."""
    control: Literal["depth", "mask", "pose"] = "depth"
    """depth: near is bright; mask: white where the character is; pose: its bones in colours."""
    out: Path = Path("control.mp4")
    """The .mp4 or .gif to write."""
    film: str = "81x480x832"
    """Size of the film as FRAMESxHEIGHTxWIDTH, the same as of the film that will follow it."""
    fps: float = 16.0
    """Frames per second; Wan VACE was trained with 16."""
    force: bool = False
    """Overwrite a film that exists."""

    def run(self) -> None:
        from akd.assets import check_output
        from akd.files.video import check_video_name, write_video
        from akd.pipeline.control_film import control_film, control_settings
        from akd.pipeline.save import read_poses

        check_video_name(self.out)
        check_output(self.out, force=self.force)
        settings = control_settings(self.film, self.fps)
        space = self.space()
        video = control_film(space.rig, read_poses(space.rig, self.poses, self.clip), self.control, settings)
        write_video(self.out, video, settings.fps)
        console().print(f"Wrote {self.out}: {len(video)} frames of {settings.width} × {settings.height}", **PLAIN)


FINISHED_PARTS = {"finished": "", "proxy": "-proxy", "mask": "-mask", "depth": "-depth"}
"""The videos of ``Finish`` and what is added to their names."""


def _print_written(paths: "list[Path]") -> None:
    console().print(f"Wrote {' and '.join(map(str, paths))}", **PLAIN)


def _print_table(columns: tuple[str, ...], rows: list, title: str) -> None:
    """A table of values; names of joints and characters are printed as they are, whatever is in them."""
    from rich.table import Table
    from rich.text import Text

    table = Table(*columns, title=Text(title))
    for row in rows:
        table.add_row(*(Text(str(value)) for value in row))
    console().print(table)


Job = (
    Annotated[Sample, Sub("sample")] | Annotated[Solve, Sub("solve")] | Annotated[Project, Sub("project")]
    | Annotated[ScorePoses, Sub("score")] | Annotated[Invert, Sub("invert")] | Annotated[Decode, Sub("decode")]
    | Annotated[Walk, Sub("walk")] | Annotated[Limits, Sub("limits")] | Annotated[Finish, Sub("finish")]
    | Annotated[Film, Sub("film")]
)  # fmt: skip


def pose(job: tyro.conf.OmitSubcommandPrefixes[tyro.conf.OmitArgPrefixes[Job]]) -> None:
    """Plausible poses of a character: draw, solve, mend and score them, and go from one to another."""
    job.run()
