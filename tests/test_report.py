"""The report says what was measured, holds the animation byte for byte, and needs nothing but itself."""

import base64
import json
import re
import shutil
import subprocess
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
import torch

from akd.assets import load_rig
from akd.character.clips import read_clip
from akd.contact.traces import trace
from akd.creatures.build import creature
from akd.creatures.gaits import gait_motion
from akd.files.gltf.write_rig import encode_rig
from akd.measure.evaluation import Evaluation, evaluate
from akd.measure.report import common_bounds, contact_chart, foot_contact, limb_title, line_panel, most_moving, write_report
from akd.measure.wording import METRICS, metric_text, verdict_sentence
from akd.motion import Motion
from akd.skeleton import Pose

HOSTILE = "</script><b>\"dog\" & 'cat'"
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def dog():
    rig = creature("dog", 3)
    return rig, gait_motion(rig, "walk", seed=3, cycles=2)


@pytest.fixture(scope="module")
def glb(dog, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("report") / "dog.glb"
    path.write_bytes(encode_rig(dog[0], {"rest": gait_motion(dog[0], "walk", seed=1), "akd": dog[1]}))
    return path


@pytest.fixture(scope="module")
def page(dog, glb) -> Path:
    """A report with everything that can be in one."""
    rig, motion = dog
    strip = np.full((40, 120, 3), 127, np.uint8)
    path = glb.with_name("report.html")
    write_report(
        path, rig, motion, glb, title=HOSTILE, evaluation=evaluate(rig, motion, from_file=False),
        settings={"prompt": HOSTILE}, strip=strip, curves={"score": [3.0, float("nan"), 1.0], "nothing": []}, clip="akd",
    )  # fmt: skip
    return path


def row_frames(html: str, count: int) -> dict[str, np.ndarray]:
    """Read back from the chart which feet touch the ground at the instants of the frames."""
    at = np.linspace(0, 1000, count)
    feet = {}
    for foot, row in re.findall(r'data-foot="([^"]*)">(.*?)</svg>', html):
        bars = [(float(x), float(x) + float(width)) for x, width in re.findall(r'<rect x="([\d.]+)" width="([\d.]+)"', row)]
        feet[foot] = np.array([any(a <= x <= b for a, b in bars) for x in at])
    return feet


def test_page_loads_nothing(page):
    """No address in it but the names of XML vocabularies, and the browser is forbidden to fetch any."""
    text = page.read_text(encoding="utf-8")
    assert set(re.findall(r"https?://[\w.]+", text)) <= {"http://www.w3.org"}
    assert re.findall(r'(?:src|href)="(?!data:)', text) == []
    assert "default-src 'none'" in text


def test_embedded_glb_is_the_file(page, glb):
    inside = re.search(r'id="glb">([^<]*)<', page.read_text(encoding="utf-8"))
    assert base64.b64decode(inside[1], validate=True) == glb.read_bytes()


def test_names_cannot_break_out(page):
    text = page.read_text(encoding="utf-8")
    assert HOSTILE not in text
    assert text.count("&lt;/script&gt;&lt;b&gt;") >= 3  # title, heading, setting


def test_contact_rows_are_what_was_measured(dog, page):
    rig, motion = dog
    evaluation = evaluate(rig, motion, from_file=False)
    rows = row_frames(page.read_text(encoding="utf-8"), motion.frame_count)
    assert tuple(rows) == ("left front leg", "right front leg", "left hind leg", "right hind leg")
    drawn = np.stack(list(rows.values()), -1)
    assert np.array_equal(drawn, foot_contact(trace(rig, motion), evaluation))
    assert drawn.mean() == pytest.approx(evaluation.contact_share)


def test_contact_of_a_clip_counts_from_its_own_ground(assets):
    rig = load_rig(assets / "fox_khronos" / "Fox.glb")
    motion = read_clip(rig, "Walk").motion
    evaluation = evaluate(rig, motion, from_file=True)
    assert foot_contact(trace(rig, motion), evaluation).mean() == pytest.approx(evaluation.contact_share)


@pytest.mark.parametrize("pattern", [[0], [1], [1, 0], [0, 1, 1, 0, 1], [1, 1, 1], [0, 0, 1]])
def test_bars_can_be_read_back(pattern):
    contact = np.array(pattern, bool)[:, None]
    assert np.array_equal(row_frames(contact_chart(("foot",), contact, ("0", "1")), len(pattern))["foot"], contact[:, 0])


def test_page_stands_on_the_stage(dog, page):
    """The view puts the file's metres and axes back on the stage: forward is +x, one leg length is 1."""
    scene = json.loads(re.search(r'id="scene">([^<]*)<', page.read_text(encoding="utf-8"))[1])
    matrix = np.array(scene["stage_from_glb"]).reshape(4, 4)
    assert np.allclose(matrix @ [0, 0, dog[0].leg_metres, 1], [1, 0, 0, 1])
    assert scene["clip"] == "akd"


def test_lines_break_where_nothing_is_known():
    html = line_panel("score", {"score": np.array([0.0, np.nan, 2.0, 1.0])}, unit="", ends=("1", "4"), seek=False)
    assert re.search(r'd="(M[^ML]+M[^ML]+L[^ML]+)"', html)
    assert "nan" not in html


def test_bounds():
    assert common_bounds(np.array([1.0, 4.0]), np.array([-2.0])) == (-2.0, 4.0)
    assert common_bounds(np.array([1.0, 1.1]), least=2.0) == pytest.approx((0.05, 2.05))
    low, high = common_bounds(np.full(3, 7.0))
    assert low < 7 < high
    low, high = common_bounds(np.array([np.nan]))
    assert low < high


def test_most_moving_joints_of_a_limb(dog):
    rig, _ = dog
    leg = rig.legs[0]
    degrees = np.zeros((5, rig.skeleton.joint_count, 3))
    first, second = leg.joints[:2]
    degrees[:, first, 1], degrees[:, second, 0] = np.linspace(0, 30, 5), np.linspace(0, 90, 5)
    names = rig.skeleton.names
    assert list(most_moving(leg, degrees, names)) == [f"{names[first]}, swing", f"{names[second]}, twist"]
    assert limb_title(leg, rig.skeleton.limbs) == "left front leg"


def test_every_number_is_shown_once():
    shown = [metric.field for group in METRICS.values() for metric in group]
    assert sorted(shown) == sorted(field.name for field in fields(Evaluation) if field.name not in ("verdict", "notes"))


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (None, "ℓ", "–"), (0.125, "%", "12.5 %"), (1e-7, "ℓ", "0 ℓ"), (-0.25, "", "−0.25"), ((0.0, 0.5), "ℓ", "0 · 0.5 ℓ"),
        (41, "", "41"),
    ],
)  # fmt: skip
def test_metric_text(value, unit, text):
    assert metric_text(value, unit) == text


def test_verdict_sentence_begins_with_the_verdict(dog):
    """Also where the motion is bad: sunk, still, hovering or dragged along."""
    rig, motion = dog
    seen = set()
    along = torch.linspace(0, motion.duration, motion.frame_count)
    for lift, amount, drag in ((0, 1, 0), (-0.5, 1, 0), (0, 0, 0), (0.5, 1, 0), (0, 1, 4)):
        moved = torch.stack((0 * along, lift + 0 * along, drag * along), -1)
        pose = Pose(motion.pose.root_position + moved, motion.pose.root_rotation, amount * motion.pose.angles)
        evaluation = evaluate(rig, Motion(pose, motion.fps), from_file=False)
        assert verdict_sentence(evaluation).lower().startswith(evaluation.verdict)
        seen.add(evaluation.verdict)
    assert seen == {"good", "broken", "tiny", "floating", "sliding"}


@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_page_plays_in_a_browser(page, tmp_path):
    """The clip runs without a network and no script complains; the page's policy would report whatever it tried to load."""
    command = [
        BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader", "--window-size=320,480",
        "--virtual-time-budget=6000", "--enable-logging=stderr", "--host-resolver-rules=MAP * ~NOTFOUND",
        f"--user-data-dir={tmp_path}", "--dump-dom", page.as_uri(),
    ]  # fmt: skip
    run = subprocess.run(command, capture_output=True, text=True, timeout=240, check=True)
    root = re.search(r"<html[^>]*>", run.stdout)[0]
    assert 'data-view="playing"' in root
    assert float(re.search(r"--now: ([\d.]+)", root)[1]) > 0
    assert re.search(r'id="clock">[\d.]+ / 1\.33 s<', run.stdout)
    said = [line for line in run.stderr.splitlines() if "CONSOLE" in line]
    assert [line for line in said if "GL Driver Message" not in line] == []  # those are about the speed of the drawing
