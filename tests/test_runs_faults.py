"""What can go wrong with a run's folder: inputs in it, damage, two processes, older runs, older versions."""

import errno
import json
import os
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save, save_file

from akd.assets import load_motion, load_rig
from akd.distill.loop import Distillation
from akd.distill.recipe import RENAMED, RENAMED_ESTIMATORS, Recipe
from akd.errors import AkdError
from akd.files import lock
from akd.files.gltf.write_rig import write_rig
from akd.files.lock import locked_folder
from akd.files.writing import NAME_LENGTH, safe_name
from akd.inspection import write_found_labels
from akd.pipeline import animate, checkpoint, runs
from akd.pipeline.checkpoint import load_checkpoint
from akd.pipeline.job import Job, make_task, read_character
from akd.pipeline.run_folder import FILES, RunFolder, versions
from in_process import command_line
from quick_runs import JOB, Heard, Killed, at_call, begin, content, kill, quickly, resume
from stick_rigs import person
from test_animate import closed_prior
from test_kills import person_motion

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    quickly(monkeypatch)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        quickly(patch)
        return begin(tmp_path_factory.mktemp("runs") / "unbroken")[0].path


@pytest.fixture
def halfway(unbroken: Path, tmp_path: Path) -> Path:
    """A run that is not complete: everything but its results."""
    folder = tmp_path / "run"
    folder.mkdir()
    for name in FILES[:3]:
        (folder / name).write_bytes((unbroken / name).read_bytes())
    return folder


@pytest.fixture
def akd(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """The command line inside this process: exit code, output, errors."""

    return command_line(monkeypatch, capsys)


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


# Inputs are never cleared away or overwritten.


@pytest.mark.parametrize("name", ["rig.glb", "animated.glb", "tracked/animated.glb", "seed-3/rig.glb", "config.json"])
@pytest.mark.parametrize("link", ["same", "symbolic", "hard", "folder"])
def test_a_run_does_not_take_its_own_character(name: str, link: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    inside, own = folder / name, tmp_path / "mine.glb"
    inside.parent.mkdir(parents=True)
    write_rig(person(), {}, inside if link in ("same", "folder") else own)
    if link == "symbolic":
        inside.symlink_to(own)
    elif link == "hard":
        inside.hardlink_to(own)
    elif link == "folder":
        (tmp_path / "link").symlink_to(folder)
        folder = tmp_path / "link"
    before = everything(tmp_path)
    job = replace(JOB, character=str(inside if link in ("same", "folder") else own))
    with pytest.raises(AkdError, match="is an input and is never overwritten"):
        begin(folder, job, force=True)
    assert everything(tmp_path) == before


LINKS = {
    "same": lambda link, own: None,
    "symbolic": lambda link, own: link.symlink_to(own),
    "hard": lambda link, own: link.hardlink_to(own),
}


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize(
    "command", ["rig", "skeleton", "convert", "splat", "track", "track run", "track npz", "retarget", "retarget clip"]
)
def test_no_command_takes_its_own_input(command: str, link: str, akd, tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    folder.mkdir()
    own = folder / ("cloud.ply" if command == "splat" else "animated.glb")
    write_rig(person(), {"walk": person_motion()}, own)
    write_rig(person(), {}, folder / "rig.glb")
    write_rig(person(), {"walk": person_motion()}, tmp_path / "other.glb")
    (folder / "motion.npz").write_bytes(b"a motion")
    out = own
    if link != "same":
        out = folder / f"link{own.suffix}"
        LINKS[link](out, own)
    if command.startswith("track") and link != "same":
        pytest.skip("the names of its outputs are fixed")
    before = everything(tmp_path)
    arguments = {
        "rig": ("rig", own, "--out", out), "skeleton": ("rig", tmp_path / "other.glb", "--skeleton", own, "--out", out),
        "convert": ("convert", f"{own}#walk", "--out", out), "splat": ("splat", own, "--out", out),
        "track": ("track", f"{own}#walk", "--out", folder), "retarget": ("retarget", tmp_path / "other.glb", own, "--out", out),
        "retarget clip": ("retarget", own, tmp_path / "other.glb", "--out", out),
        "track run": ("track", folder, "--out", folder), "track npz": ("track", folder / "motion.npz", "--out", folder),
    }[command]  # fmt: skip
    code, said, error = akd(*arguments, "--force")
    assert (code, said) == (2, "")
    assert "is an input and is never overwritten" in error
    assert error.count("\n") == 1
    assert everything(tmp_path) == before


@pytest.mark.parametrize("options", [("walking", "--export", "fbx"), ("walking", "jumping", "--one-file", "--export", "fbx")])
def test_an_export_does_not_take_its_own_input_after_hours(options: tuple[str, ...], akd, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(runs, "_load", lambda *_: pytest.fail("it was too late"))
    (tmp_path / "animated.fbx").write_bytes(b"mine")
    code, said, error = akd("animate", tmp_path / "animated.fbx", *options, "--out", tmp_path, "--force")
    assert (code, said, error.count("\n")) == (2, "", 1)
    assert "is an input and is never overwritten" in error
    assert everything(tmp_path) == {str(tmp_path / "animated.fbx"): b"mine"}


def test_one_file_for_several_sentences_takes_no_other_file_of_its_name(akd, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(runs, "_load", lambda *_: pytest.fail("it was too late"))
    write_rig(person(), {}, tmp_path / "mine.glb")
    (tmp_path / "animated.glb").write_bytes(b"another")
    code, _, error = akd("animate", tmp_path / "mine.glb", "walking", "jumping", "--one-file", "--out", tmp_path)
    assert (code, "exists already" in error) == (2, True)
    assert (tmp_path / "animated.glb").read_bytes() == b"another"


# Names from files never become paths as they are.

ODD_NAMES = [
    "x/../../../evil", "..", ".", "", "/etc/passwd", "C:\\windows", "a\\..\\b", "nul", "CON.txt", "a\0b", "\x1b[31mred", "[/b]",
    "n" * 500, "ü" * 300, "\ud800", "\u202eevil", " . ", "-rf", "~", "a|b", "Walk Cycle", "走る",
]  # fmt: skip


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_safe_name_is_one_part_of_a_path(name: str, tmp_path: Path) -> None:
    safe = safe_name(name)
    assert Path(safe).name == safe
    assert safe not in ("", ".", "..")
    assert 0 < len(safe) <= NAME_LENGTH + 1
    assert safe.isprintable()
    assert safe_name(safe) == safe
    (tmp_path / f"{safe}-tracked").mkdir()
    assert [path.name for path in tmp_path.iterdir()] == [f"{safe}-tracked"]


def test_ordinary_names_stay_as_they_are() -> None:
    for name in ("Fox-Walk", "Walk Cycle", "走る", "rig.001", "a_b+c (1)"):
        assert safe_name(name) == name


@pytest.mark.parametrize("name", ["x/../../../evil", "/tmp/evil", "..\\..\\evil", "\x1b]0;evil\x07"])
def test_a_clips_name_leads_nowhere_else(name: str, akd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = tmp_path / "a" / "b"
    work.mkdir(parents=True)
    monkeypatch.chdir(work)
    write_rig(person(), {name: person_motion()}, "in.glb")

    def told(rig, result, folder: Path, **_):
        raise AkdError(f"folder {folder}")

    monkeypatch.setattr("akd.physics.track.track", lambda *_, **__: None)
    monkeypatch.setattr("akd.pipeline.track.write_result", told)
    code, _, error = akd("track", "in.glb")
    folder = Path(error.removeprefix("akd: folder ").strip())
    assert code == 2
    assert folder.parent == Path("runs")
    assert folder.name == safe_name(folder.name)
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()] == ["a/b/in.glb"]


# Damage.


def damaged_configs(config: dict) -> dict[str, bytes]:
    """Every entry missing or of another type, and files that are no JSON."""
    broken = {"list": b"[]", "nothing": b"{}", "empty": b"", "binary": b"\xff\xfe\0", "cut": json.dumps(config).encode()[:-9],
              "deep": b"[" * 100_000, "number": b"9" * 9000, "null": b"null"}  # fmt: skip
    for name, value in (("job", []), ("job", None), ("job", {}), ("runs", []), ("runs", {}), ("runs", [".."]), ("runs", ["/tmp"]),
                        ("runs", [3]), ("runs", ["seed-0"]), ("runs", ["seed-0/../.."])):  # fmt: skip
        broken[f"{name} {value}"] = json.dumps(config | {name: value}).encode()
    for part in fields(Job):
        for value in ([], {}, "\ud800", -1, 1e300, float("nan"), None, True, "x", 10**30):
            changed = {**config["job"], part.name: value}
            broken[f"{part.name} {value!r}"] = json.dumps(config | {"job": changed}).encode()
    for part in fields(Recipe):
        for value in ([], {}, "x", -1, 1e300, float("nan"), None, [1, 2, 3], ["x", "y"]):
            recipe = {**config["job"]["recipe"], part.name: value}
            broken[f"recipe {part.name} {value!r}"] = json.dumps(config | {"job": {**config["job"], "recipe": recipe}}).encode()
    return broken


def jobs_or_sentence(folder: Path) -> list[Job] | str:
    try:
        return [run.job() for run in runs.runs_in(folder)]
    except AkdError as error:
        return str(error)


def test_every_damaged_config_is_a_job_or_one_sentence(halfway: Path) -> None:
    config = json.loads((halfway / "config.json").read_text())
    cases, refused = damaged_configs(config), 0
    for name, data in cases.items():
        (halfway / "config.json").write_bytes(data)
        found = jobs_or_sentence(halfway)
        if isinstance(found, str):
            assert "\n" not in found, name
            assert "config.json" in found, name
            refused += 1
        else:
            assert all(Job.from_dict(json.loads(json.dumps(job.as_dict()))) == job for job in found), name
    assert len(cases) > 250
    assert refused > 0.8 * len(cases)


def test_every_damaged_checkpoint_is_refused(halfway: Path) -> None:
    path = halfway / "checkpoint.safetensors"
    whole = path.read_bytes()
    length = int.from_bytes(whole[:8], "little")
    flipped = [8 * place + place % 8 for place in range(0, len(whole), max(len(whole) // 150, 1))]
    cases = [whole[:cut] for cut in (0, 1, 7, 8, 100, 8 + length, len(whole) - 1)] + [b"\0" * 64, whole + b"\0"]
    cases += [whole[: bit // 8] + bytes([whole[bit // 8] ^ 1 << bit % 8]) + whole[bit // 8 + 1 :] for bit in flipped]
    cases += [whole.replace(b'"F32"', b'"I32"', 1), whole.replace(b'"F32","shape":[]', b'"I32","shape":[]', 1)]
    run = Distillation(make_task(JOB, closed_prior(), person()))
    for data in cases:
        path.write_bytes(data)
        with pytest.raises(AkdError, match=r"^[^\n]*checkpoint\.safetensors (is damaged|belongs to another|was written)[^\n]*$"):
            load_checkpoint(run, path)


@pytest.mark.parametrize("name", ["exp_avg", "iteration", "eps"])
def test_checkpoints_without_a_checksum_are_looked_at_too(name: str, halfway: Path) -> None:
    path = halfway / "checkpoint.safetensors"
    with safe_open(path, "pt") as stored:
        tensors = {key: stored.get_tensor(key) for key in stored.keys()}  # noqa: SIM118
    for changed in ({}, {"iteration": torch.tensor(99)}, {"iteration": torch.zeros(3)}):
        kept = {key: value for key, value in tensors.items() if changed or not key.endswith(name)}
        save_file(kept | changed, path)
        with pytest.raises(AkdError, match="is damaged"):
            load_checkpoint(Distillation(make_task(JOB, closed_prior(), person())), path)


def test_damaged_logs_and_results_are_made_again(unbroken: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    for name, damage in {
        "log.jsonl": [b"", b"\xff\n{}\n[]\nnull\n", b'{"iteration": true}\n{"iteration": "1"}\n{"iteration": 1, "score": "x"}\n'],
        "result.json": [b"", b"[]", b"{}", b"\xff", b'{"sentence": 3}'],
    }.items():
        for data in damage:
            folder.mkdir(exist_ok=True)
            for file in FILES:
                (folder / file).write_bytes((unbroken / file).read_bytes())
            (folder / name).write_bytes(data)
            if name == "log.jsonl":
                (folder / "result.json").unlink()
            resume(folder)
            assert (folder / "motion.npz").read_bytes() == (unbroken / "motion.npz").read_bytes()
            assert RunFolder(folder).result() == RunFolder(unbroken).result()


def test_a_motion_that_was_removed_comes_back(unbroken: Path, tmp_path: Path) -> None:
    for file in FILES:
        (tmp_path / file).write_bytes((unbroken / file).read_bytes())
    (tmp_path / "motion.npz").unlink()
    resume(tmp_path)
    assert content(tmp_path) == content(unbroken)


def test_a_run_that_never_began_says_the_same_everywhere(tmp_path: Path) -> None:
    """Neither begin nor resume points at the other in a circle."""
    folder = tmp_path / "run"
    with pytest.MonkeyPatch.context() as patch:
        at_call(patch, RunFolder, "clear", 1, kill(patch))
        with pytest.raises(Killed):
            begin(folder)
    with pytest.raises(AkdError) as resumed:
        resume(folder)
    with pytest.raises(AkdError) as begun:
        begin(folder)
    assert "--force" in str(resumed.value)
    assert "--force" in str(begun.value)
    assert "--resume" not in str(begun.value)
    begin(folder, force=True)


@pytest.mark.parametrize("entry", ["akd", "torch", "threads"])
def test_other_versions_are_mentioned(entry: str, halfway: Path) -> None:
    config = json.loads((halfway / "config.json").read_text())
    config["versions"][entry] = "0.0"
    (halfway / "config.json").write_text(json.dumps(config))
    heard = Heard()
    resume(halfway, heard)
    assert [f"{entry} 0.0 → {versions()[entry]}" in sentence for sentence in heard.sentences].count(True) == 1


@pytest.mark.parametrize("damage", [[], None, 3, "x"])
def test_versions_that_are_no_table_are_mentioned(damage: object, halfway: Path) -> None:
    config = json.loads((halfway / "config.json").read_text()) | {"versions": damage}
    (halfway / "config.json").write_text(json.dumps(config))
    heard = Heard()
    runs._notice_other_versions(halfway, heard)
    assert ["does not say with which versions" in sentence for sentence in heard.sentences] == [True]


# Labels.


def test_the_rig_of_a_run_keeps_the_labels_its_motion_was_made_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a user corrects beside FILE.glb is also true of the run's rig.glb, which track and retarget read."""
    monkeypatch.setattr(runs, "read_character", read_character)
    write_rig(person(), {}, tmp_path / "mine.glb")
    labels = write_found_labels(tmp_path / "mine.glb")
    labels.write_text(labels.read_text().replace('"arm"', '"wing"').replace('"height": 2', '"height": 3'))
    own = load_rig(tmp_path / "mine.glb")
    begin(tmp_path / "run", replace(JOB, character=str(tmp_path / "mine.glb")))
    read = load_motion(tmp_path / "run").rig
    assert read.skeleton.names == own.skeleton.names
    assert [vars(limb) for limb in read.skeleton.limbs] == [vars(limb) for limb in own.skeleton.limbs]
    assert len(read.skeleton.limbs_of("wing")) == 2
    assert read.leg_metres == pytest.approx(own.leg_metres, rel=1e-6)
    (tmp_path / "run" / "rig.akd.json").unlink()
    assert not load_motion(tmp_path / "run").rig.skeleton.limbs_of("wing")


# Two processes.


@pytest.fixture
def other_process(tmp_path: Path):
    """Another process at work in a folder."""
    script = (
        "import sys, time\nfrom pathlib import Path\nfrom akd.files.lock import locked_folder\n"
        "with locked_folder(Path(sys.argv[1])):\n    print('at work', flush=True)\n    time.sleep(300)"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    folder = tmp_path / "run"
    process = subprocess.Popen([sys.executable, "-c", script, folder], stdout=subprocess.PIPE, env=environment)
    assert process.stdout is not None
    assert process.stdout.readline() == b"at work\n"
    yield folder
    process.kill()
    process.wait()
    process.stdout.close()


def test_the_second_process_is_refused_before_it_loads_anything(other_process: Path, unbroken: Path, akd, monkeypatch) -> None:
    monkeypatch.setattr(runs, "_load", lambda *_: pytest.fail("it was too late"))
    for name in FILES[:3]:
        (other_process / name).write_bytes((unbroken / name).read_bytes())
    before = everything(other_process)
    for arguments in (("a person walking", "--out", other_process, "--force"), ("--resume", other_process)):
        code, _, error = akd("animate", *arguments)
        assert code == 2
        assert "Another akd is at work" in error
        assert error.count("\n") == 1
    write_rig(person(), {"walk": person_motion()}, other_process.parent / "in.glb")
    monkeypatch.setattr("akd.physics.track.track", lambda *_, **__: pytest.fail("it was too late"))
    code, _, error = akd("track", other_process.parent / "in.glb", "--out", other_process, "--force")
    assert (code, "Another akd is at work" in error) == (2, True)
    assert everything(other_process) == before


def test_a_lock_ends_with_its_process(tmp_path: Path) -> None:
    with locked_folder(tmp_path / "run"), pytest.raises(AkdError, match="Another akd"), locked_folder(tmp_path / "run"):
        pass
    assert not (tmp_path / "run").exists()  # nothing was put into it
    with locked_folder(tmp_path / "run"):
        (tmp_path / "run" / "x").touch()
    assert (tmp_path / "run" / "x").exists()


class Msvcrt:
    """What Windows offers, told by its documentation: one byte of an open file is locked for one handle at a time."""

    LK_NBLCK = 2

    def __init__(self) -> None:
        self.holders: dict[int, int] = {}

    def locking(self, handle: int, mode: int, count: int) -> None:
        assert (mode, count) == (self.LK_NBLCK, 1)
        place = os.fstat(handle).st_ino
        holder = self.holders.get(place)
        if holder != handle and _is_open(holder, place):  # the number of a handle that was closed is used again
            raise PermissionError(errno.EACCES, "Permission denied")
        self.holders[place] = handle


def _is_open(handle: int | None, place: int) -> bool:
    try:
        return handle is not None and os.fstat(handle).st_ino == place
    except OSError:
        return False


def test_windows_locks_a_file_beside_its_temporary_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "fcntl", None)
    monkeypatch.setattr(lock, "msvcrt", Msvcrt())
    monkeypatch.setattr(lock.tempfile, "gettempdir", lambda: str(tmp_path))
    run = tmp_path / "run"
    with locked_folder(run):
        assert list(run.iterdir()) == []  # so that a killed process leaves nothing that looks like an older run
        with pytest.raises(AkdError, match="Another akd is at work"), locked_folder(tmp_path / "x" / ".." / "run"):
            pass
        with locked_folder(tmp_path / "other"):
            pass
    with locked_folder(run):
        (run / "x").touch()
    assert [path.name for path in run.iterdir()] == ["x"]


def test_without_any_locks_work_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "fcntl", None)
    with locked_folder(tmp_path / "run"), locked_folder(tmp_path / "run"):
        pass


def test_a_run_that_came_first_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes begin at once; the other one is done when this one has loaded its prior."""
    load = runs._load

    def slowly(*arguments):
        monkeypatch.setattr(runs, "_load", load)
        begin(tmp_path / "run")
        return load(*arguments)

    monkeypatch.setattr(runs, "_load", slowly)
    with pytest.raises(AkdError, match="exists already: go on with --resume"):
        begin(tmp_path / "run", replace(JOB, seed=9))
    assert RunFolder(tmp_path / "run").job().seed == 0


# Older runs.


def test_force_removes_all_of_the_older_run_and_nothing_else(unbroken: Path, tmp_path: Path) -> None:
    ours = [*FILES, "strips.png", "diversity.json", "tracked/motion.npz", "tracked/body.xml", "tracked/side-by-side.mp4",
            *(f"seed-{seed}/{name}" for seed in (0, 7) for name in FILES), "seed-7/tracked/animated.glb"]  # fmt: skip
    others = ["mine.txt", "tracked/notes.txt", "seed-7/notes.txt", "seed-data/rig.glb", "seed-1", "old/config.json", "video.mp4"]
    for name in ours + others:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    begin(tmp_path, force=True)
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert left == {*FILES, *others}
    assert all((tmp_path / name).read_text() == name for name in others)
    assert not (tmp_path / "seed-0").exists()
    assert content(unbroken)["motion.npz"] == (tmp_path / "motion.npz").read_bytes()


# Tracking is part of what is said.


def test_tracking_that_fails_is_in_the_last_line_and_in_the_result(akd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def falls(*_, **__):
        raise AkdError("The body falls over.")

    monkeypatch.setattr("akd.physics.track.track", falls)
    monkeypatch.setattr(runs, "load_prior", lambda name, **options: closed_prior())
    options = ("--seconds", 0.1, "--iterations", 1, "--draws", 1, "--track", "--out", tmp_path / "run")
    code, said, _ = akd("animate", "a person walking", *options)
    assert code == 0
    assert "Tracking failed: The body falls over." in said.strip().splitlines()[-1]
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["tracked"] == {"failed": "The body falls over."}
    assert result["sentence"].endswith("Tracking failed: The body falls over.")
    assert "The body falls over" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")


def test_tracking_that_succeeds_is_said_too(akd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("akd.physics.track.track", lambda *_, **__: SimpleNamespace(tracking_error=0.0123))
    monkeypatch.setattr("akd.pipeline.results._write_tracked", lambda *_: {"tracking_error": 0.0123})
    monkeypatch.setattr("akd.pipeline.results._tracking_rows", lambda _: None)
    monkeypatch.setattr(runs, "load_prior", lambda name, **options: closed_prior())
    options = ("--seconds", 0.1, "--iterations", 1, "--draws", 1, "--track", "--out", tmp_path / "run")
    code, said, _ = akd("animate", "a person walking", *options)
    assert code == 0
    assert "Tracked in physics to within 0.012 ℓ of that motion: see tracked/." in " ".join(said.split())
    assert json.loads((tmp_path / "run" / "result.json").read_text())["tracked"] == {"tracking_error": 0.0123}


def test_a_sentence_of_three_hundred_letters_is_no_name_too_long(akd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "load_prior", lambda name, **options: closed_prior())
    monkeypatch.chdir(tmp_path)
    sentence = ("a very old and very tired person walking " * 8)[:300]
    assert akd("animate", sentence, "--seconds", 0.1, "--iterations", 1, "--draws", 1)[0] == 0
    (folder,) = (tmp_path / "runs").iterdir()
    assert len(folder.name) <= NAME_LENGTH + 1
    assert RunFolder(folder).job().prompt == sentence.strip()


# Older versions.


def test_a_run_of_version_0_1_goes_on_to_the_same_motion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its settings and its checkpoint have other names, and there is no checksum."""
    job = replace(JOB, recipe=replace(JOB.recipe, iterations=4, candidates=("in phase", "antiphase")))
    new = begin(tmp_path / "new", job)[0]
    old = RunFolder(tmp_path / "old")
    with pytest.MonkeyPatch.context() as patch:
        at_call(patch, animate, "save_checkpoint", 4, kill(patch))
        with pytest.raises(Killed):
            begin(old.path, job)
    config = json.loads(old["config.json"].read_text())
    back = {new: old for old, new in RENAMED.items()}
    recipe = {back.get(name, name): value for name, value in config["job"]["recipe"].items()}
    estimators = {new: old for old, new in RENAMED_ESTIMATORS.items()}
    recipe["estimator"] = estimators[recipe["estimator"]]
    recipe["lags"] = [{"in phase": 0.0, "antiphase": 0.5}[name] for name in recipe.pop("candidates")]
    old["config.json"].write_text(json.dumps({"job": {**config["job"], "recipe": recipe}, "versions": config["versions"]}))
    with safe_open(old["checkpoint.safetensors"], "pt") as stored:
        tensors = {_name_of_0_1(name): stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
    assert any("dance.lag" in name for name in tensors)
    assert any("adam.curves.haste.exp_avg" in name for name in tensors)
    assert not any("trajectory" in name for name in tensors)
    old["checkpoint.safetensors"].write_bytes(save(tensors))
    assert set(back.values()) <= set(recipe)
    (resumed,) = resume(old.path)
    assert resumed["motion.npz"].read_bytes() == new["motion.npz"].read_bytes()
    assert resumed["checkpoint.safetensors"].read_bytes() == new["checkpoint.safetensors"].read_bytes()


def _name_of_0_1(name: str) -> str:
    for old, new in checkpoint.RENAMED.items():
        for kind in ("trajectory", "adam"):
            start = new.replace("trajectory", kind, 1)
            number, _, rest = name.partition(".")
            if rest == start or rest.startswith(start + "."):
                return f"{number}.{old.replace('dance', kind.replace('trajectory', 'dance'), 1)}{rest.removeprefix(start)}"
    return name
