"""Following a video measured against the truth: artists' motions filmed by another renderer; the tables of docs/follow.md.

``python -m experiments.follow --out DIR`` adds a row to DIR/rows.jsonl for every clip and way of following; rows that are there
are not made again. ``--ways`` names them: full, unknown (camera searched for), and the baselines motionless, flow, silhouette,
no-pose-space, unstaged. ``--summary`` prints the tables of what is there.
"""

import json
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
import tyro
from rich.console import Console
from rich.table import Table

from akd.contact.measures import in_contact
from akd.contact.traces import trace
from akd.errors import AkdError
from akd.follow.begin import CameraKind, begin, read_subject
from akd.follow.body import posed
from akd.follow.coordinates import to_coordinates
from akd.follow.settings import FollowSettings
from akd.follow.viewing import look
from akd.measure.evaluation import evaluate
from akd.motion import Motion
from akd.render.camera import Camera
from akd.rig import Rig
from akd.skeleton import forward_kinematics
from experiments.follow_film import Filmed, film

SETTINGS = {
    "full": FollowSettings(), "unknown": FollowSettings(), "flow": FollowSettings(silhouette=0.0, colour=0.0),
    "silhouette": FollowSettings(flow=0.0, colour=0.0), "no-pose-space": FollowSettings(plausible=0.0),
    "unstaged": FollowSettings(staged=False),
}  # fmt: skip
CLIPS = (
    ("motions/glb/m2m_horse.glb#Walk", "side"), ("motions/glb/q_char_witch.glb#Walk", "three-quarter"),
    ("motions/glb/q_donkey.glb#AnimalArmature|Walk", "side"),
    ("motions/glb/q_men_smooth_casual.glb#HumanArmature|Man_Walk", "side"),
    ("motions/glb/q_farm_horse.glb#Armature|Walk", "three-quarter"), ("assets/q_trex/Trex.glb#TRex_Walk", "side"),
    ("motions/glb/m2m_spider.glb#Walk", "three-quarter"), ("motions/glb/q_fish_whale.glb#Armature|Swim", "30,50"),
    ("motions/glb/m2m_shark.glb#Swim Horizontal", "top"), ("motions/glb/q_bird2016.glb#Armature|ArmatureAction", "three-quarter"),
    ("motions/glb/q_char_pug.glb#Punch", "front"), ("motions/glb/q_cube_goblin.glb#Walk", "side"),
    ("motions/glb/q_farm_pig.glb#Armature|Jump", "side"), ("motions/glb/q_redfox2016.glb#Armature|ArmatureAction", "side"),
    ("motions/glb/q_men_smooth_casual.glb#HumanArmature|Man_Clapping", "front"), ("motions/glb/m2m_horse.glb#Kick", "side"),
    ("assets/q_trex/Trex.glb#TRex_Attack", "three-quarter"), ("motions/glb/q_char_chef_male.glb#PickUp", "side"),
    ("motions/glb/q_monster_skeleton.glb#SkeletonArmature|Skeleton_Attack", "three-quarter"),
    ("motions/glb/q_woman2017.glb#Armature|Punch", "three-quarter"),
    ("motions/glb/q_donkey.glb#AnimalArmature|Eating", "three-quarter"),
    ("motions/glb/q_farm_llama.glb#Armature|Jump", "three-quarter"), ("motions/glb/m2m_spider.glb#Attack", "front"),
    ("motions/glb/q_char_witch.glb#Jump", "side"), ("assets/q_spider/Spider.glb#Spider_Walk", "30,35"),
    ("motions/glb/q_men_smooth_casual.glb#HumanArmature|Man_Run", "three-quarter"),
    ("motions/glb/q_farm_horse.glb#Armature|Run", "side"),
    ("assets/q_trex/Trex.glb#TRex_Run", "three-quarter"), ("motions/glb/m2m_shark.glb#Bite", "three-quarter"),
    ("motions/glb/q_char_pug.glb#Run", "side"), ("motions/glb/q_farm_sheep.glb#Armature|Jump", "front"),
    ("motions/glb/m2m_horse.glb#Rear", "three-quarter"), ("motions/glb/q_donkey.glb#AnimalArmature|Attack_Kick", "side"),
    ("motions/glb/q_cube_wizard.glb#Attack", "three-quarter"), ("motions/glb/q_char_chef_male.glb#Walk", "front"),
    ("motions/glb/q_farm_pug.glb#Armature|Jump", "three-quarter"), ("motions/glb/q_woman2017.glb#Armature|Running", "side"),
    ("assets/q_chick/Chick.glb#ArmatureAction.002", "three-quarter"), ("motions/glb/m2m_spider.glb#Jump", "side"),
    ("motions/glb/q_cyber_enemy_flying.glb#Attack", "three-quarter"),
)  # fmt: skip
"""Held-out characters of ../shared/motions and rigs of ../shared/assets: nothing was tuned on these."""
TUNING = (
    ("motions/glb/q_fox.glb#AnimalArmature|Gallop", "side"), ("motions/glb/q_man2017.glb#Human Armature|Run", "side"),
    ("motions/glb/q_pirate_sharky.glb#Walk", "side"), ("motions/glb/q_alien2019.glb#AlienArmature|Alien_Jump", "side"),
    ("assets/q_triceratops/Triceratops.glb#Armature|Triceratops_Run", "three-quarter"),
    ("motions/glb/q_man2017.glb#Human Armature|Walk", "three-quarter"), ("motions/glb/m2m_fox.glb#Run", "three-quarter"),
    ("motions/glb/q_pirate_sharky.glb#Punch", "three-quarter"),
    ("motions/glb/q_alien2019.glb#AlienArmature|Alien_Run", "three-quarter"),
    ("motions/glb/q_fox.glb#AnimalArmature|Walk", "three-quarter"),
    ("motions/glb/m2m_fox.glb#Walk", "front"), ("motions/glb/q_pirate_sharky.glb#Jump", "side"),
    ("motions/glb/q_man2017.glb#Human Armature|Jump", "three-quarter"), ("motions/glb/q_zk_pug.glb#Run", "side"),
    ("motions/glb/m2m_dragon.glb#Walk", "three-quarter"), ("motions/glb/q_wolf2017.glb#WolfArmature|Walking", "side"),
    ("motions/glb/q_ual1_human.glb#Armature|Armature|Punch_Cross", "front"),
    ("motions/glb/m2m_human_addon.glb#Jumping Jacks", "front"), ("motions/glb/m2m_bird.glb#Walk", "side"),
    ("motions/glb/q_modular_witch.glb#Run", "three-quarter"), ("motions/glb/q_zk_lis.glb#Run", "side"),
    ("motions/glb/q_fish_shark.glb#Armature|Swim", "three-quarter"),
)  # fmt: skip
"""Characters of the training part, and assets that the table does not use: what is tuned is tuned on these."""
FOLLOWING = 8
"""Every so manieth clip is filmed by a camera that goes along."""


@dataclass(frozen=True)
class Options:
    """What is measured."""

    out: Path
    """Where rows and films are kept."""
    shared: Path = Path("../../shared")
    """The folder that holds assets/ and motions/."""
    ways: tuple[str, ...] = ("full",)
    films: Literal["table", "tuning"] = "table"
    """The films of the table, or those that numbers are tuned on."""
    frames: int = 20
    """Of a film, at most."""
    first: int = 0
    last: int = len(CLIPS)
    summary: bool = False


def joints(rig: Rig, motion: Motion) -> np.ndarray:
    """Positions of all joints, frame × joint × 3 [ℓ]."""
    return forward_kinematics(rig.skeleton, motion.pose.to(torch.float64)).position.numpy()


def aligned(found: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """One rigid motion of the whole clip that brings it nearest to the truth (Kabsch)."""
    a, b = found.reshape(-1, 3), truth.reshape(-1, 3)
    u, _, vt = np.linalg.svd((a - a.mean(0)).T @ (b - b.mean(0)))
    turn = vt.T @ np.diag((1, 1, np.sign(np.linalg.det(vt.T @ u.T)))) @ u.T
    return (found - a.mean(0)) @ turn.T + b.mean(0)


def by_depth(found: np.ndarray, truth: np.ndarray, camera: Camera) -> tuple[float, float]:
    """How far the whole body is too near or too far in the mean of frames, and the mean error of joints without that [ℓ]: what
    one camera sees worst, and all else."""
    ray = truth - camera.centers[: len(truth), None].double().numpy()
    ray /= np.linalg.norm(ray, axis=-1, keepdims=True)
    apart = found - truth
    deep = (apart * ray).sum(-1).mean(1)
    return float(np.abs(deep).mean()), float(np.linalg.norm(apart - deep[:, None, None] * ray, axis=-1).mean())


def swaps(rig: Rig, found: np.ndarray, truth: np.ndarray) -> float:
    """Share of frames in which swapping a pair of limbs would halve its error, worst pair."""
    worst = 0.0
    mirror = rig.skeleton.mirror
    for limb in rig.skeleton.limbs:
        own = np.array([j for j in limb.joints if mirror[j] != j])
        if limb.side != "L" or not len(own):
            continue
        pair = np.concatenate((own, mirror[own]))
        other = np.concatenate((mirror[own], own))
        kept = np.linalg.norm(found[:, pair] - truth[:, pair], axis=-1).mean(1)
        swapped = np.linalg.norm(found[:, other] - truth[:, pair], axis=-1).mean(1)
        worst = max(worst, float(((swapped < kept / 2) & (kept > 0.05)).mean()))
    return worst


def compare(rig: Rig, found: Motion, truth: Motion, seen: np.ndarray | None) -> dict[str, Any]:
    """All measures of metrics.md, "Following a video"; ``seen`` says which limbs are visible in which frame of the truth."""
    a, b = joints(rig, found), joints(rig, truth)
    apart = np.linalg.norm(a - b, axis=-1)
    fitted = np.linalg.norm(aligned(a, b) - b, axis=-1)
    limb_of = np.zeros(len(rig.skeleton.names), int)
    for index, limb in enumerate(rig.skeleton.limbs):
        limb_of[list(limb.joints)] = index
    row = {
        "error": float(apart.mean()), "error_aligned": float(fitted.mean()), "swaps": swaps(rig, a, b),
        "limbs": {limb.name: float(apart[:, list(limb.joints)].mean()) for limb in rig.skeleton.limbs},
    }  # fmt: skip
    if seen is not None:
        visible = seen[:, limb_of]
        row["error_visible"] = float(apart[visible].mean()) if visible.any() else None
        row["error_hidden"] = float(apart[~visible].mean()) if (~visible).any() else None
    if rig.legs:
        one, other = (in_contact(trace(rig, each).feet) for each in (found, truth))
        row["contact_agreement"] = float((one == other).mean())
        measured, wanted = evaluate(rig, found), evaluate(rig, truth)
        row |= {"skating": measured.skating_ratio, "skating_truth": wanted.skating_ratio}
        row |= {"duty": measured.duty_factor, "duty_truth": wanted.duty_factor}
    return row


def follow_once(filmed: Filmed, way: str) -> dict[str, Any]:
    """Follow a clip in one way, and compare."""
    begun = time.process_time()
    clip, subject = read_subject(filmed.path)
    first = None if way == "unknown" else filmed.first
    camera: CameraKind = "following" if filmed.follows else "auto"  # who makes a clip knows whether the camera goes along
    run = begin(filmed.rig, clip, subject, first=first, settings=SETTINGS.get(way, FollowSettings()), camera=camera)
    while way != "motionless" and run.iteration < run.iterations:
        run.step()
    found = run.finish(going_along=filmed.follows)
    count = min(found.motion.frame_count, filmed.motion.frame_count)
    motion, truth = (replace(each, pose=each.pose[:count]) for each in (found.motion, filmed.motion))
    if way == "motionless":
        motion = replace(truth, pose=truth.pose[torch.zeros(count, dtype=torch.long)])
    body = run.scene.body
    sight = look(body, run.scene.view, posed(body, to_coordinates(truth.pose))) if way != "unknown" else None
    seen = None
    if sight is not None:
        shown = np.stack([each.shown for each in sight])
        seen = np.stack([shown[:, body.limb == k].any(1) for k in range(len(body.rig.skeleton.limbs))], 1)
    deep, flat = by_depth(joints(filmed.rig, motion), joints(filmed.rig, truth), filmed.camera)
    return compare(filmed.rig, motion, truth, seen) | {
        "error_depth": deep, "error_without_depth": flat,
        "overlap": found.match.overlap, "overlap_motionless": found.match.overlap_motionless, "verdict": found.match.verdict,
        "frames": count, "seconds": time.process_time() - begun, "notes": list(found.notes),
    }  # fmt: skip


def main(options: Options) -> None:
    """Make the rows that are missing."""
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "rows.jsonl"
    console = Console(highlight=False)
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []
    if not options.summary:
        done = {(row["clip"], row["way"]) for row in rows}
        clips = CLIPS if options.films == "table" else TUNING
        for index, (source, view) in list(enumerate(clips))[options.first : options.last]:
            follows = options.films == "table" and index % FOLLOWING == FOLLOWING - 1
            for way in options.ways:
                name = f"{source} {view}{' following' if follows else ''}"
                if (name, way) in done:
                    continue
                try:
                    path_film = options.out / f"{index:02}.mp4"
                    filmed = film(
                        str(options.shared / source), view, path_film, follows=follows, seed=index, frames=options.frames
                    )
                    row = follow_once(filmed, way)
                except AkdError as error:
                    row = {"failed": str(error)}
                row = {"clip": name, "way": way, "view": view, "follows": follows, **row}
                rows.append(row)
                with path.open("a") as file:
                    file.write(json.dumps(row) + "\n")
                console.print(way, name, {k: round(v, 3) for k, v in row.items() if isinstance(v, float)}, row.get("failed", ""))
    console.print(table(rows))


def table(rows: list[dict[str, Any]]) -> Table:
    """One line per way of following."""
    out = Table("way", "clips", "refused", "error median [ℓ]", "aligned", "< .15", "visible", "hidden", "overlap", "swaps > .1",
                "contact", "skating", "CPU s")  # fmt: skip
    for way in dict.fromkeys(row["way"] for row in rows):
        own = [row for row in rows if row["way"] == way]
        good = [row for row in own if "failed" not in row]

        def middle(key: str, good=good) -> str:
            values = [row[key] for row in good if row.get(key) is not None]
            return f"{np.median(values):.3f}" if values else "–"

        if good:
            below = np.mean([row["error_aligned" if way == "unknown" else "error"] < 0.15 for row in good])
            swapped = np.mean([row["swaps"] > 0.1 for row in good])
            out.add_row(way, str(len(own)), str(len(own) - len(good)), middle("error"), middle("error_aligned"), f"{below:.2f}",
                        middle("error_visible"), middle("error_hidden"), middle("overlap"), f"{swapped:.2f}",
                        middle("contact_agreement"), middle("skating"), middle("seconds"))  # fmt: skip
    return out


if __name__ == "__main__":
    main(tyro.cli(Options))
