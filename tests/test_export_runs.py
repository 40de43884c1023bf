"""Finished runs as files for other programs, and their curves in TensorBoard."""

from dataclasses import replace
from pathlib import Path

import pytest

from akd.assets import read_file
from akd.errors import AkdError
from akd.pipeline import export_runs as exporting
from akd.pipeline.curves import TensorBoardProgress
from akd.pipeline.job import Progress
from akd.pipeline.runs import begin_runs
from quick_runs import JOB, PERSON, begin, quickly
from test_animate import closed_prior


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    quickly(monkeypatch)
    monkeypatch.setattr(exporting, "read_character", lambda job: PERSON)


@pytest.mark.long
def test_two_sentences_become_two_clips_of_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "begin_runs", lambda place, job, *_, **__: begin(place, replace(job, character=None)))
    jobs = [replace(JOB, prompt=prompt, character="person.glb") for prompt in ("a person walking", "a person jumping")]
    (tmp_path / "person.glb").touch()
    runs = exporting.runs_for(tmp_path / "runs", jobs, Progress())
    assert [run.path.name for run in runs] == ["person-walking", "person-jumping"]
    monkeypatch.setattr(type(runs[0]), "job", lambda run: replace(jobs[0], prompt=run.path.name.replace("-", " ")))
    path = exporting.export_runs(runs, tmp_path / "both.glb")
    assert [clip.name for clip in read_file(path).clips] == ["person-walking", "person-jumping"]


@pytest.mark.long
def test_runs_of_different_characters_do_not_share_a_file(tmp_path: Path) -> None:
    runs = [*begin(tmp_path / "one"), *begin(tmp_path / "two", replace(JOB, individual=3))]
    with pytest.raises(AkdError, match="another character"):
        exporting.export_runs(runs, tmp_path / "both.glb")
    assert not (tmp_path / "both.glb").exists()


def test_several_sentences_need_a_file(tmp_path: Path) -> None:
    with pytest.raises(AkdError, match="name its file"):
        exporting.runs_for(tmp_path, [JOB, JOB], Progress())


@pytest.mark.long
def test_curves_have_every_iteration(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="the extra 'tensorboard' is not installed")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    progress = TensorBoardProgress(Progress(), tmp_path / "curves")
    begin_runs(tmp_path / "run", JOB, 1, progress, prior=closed_prior())
    (folder,) = (tmp_path / "curves").iterdir()
    found = EventAccumulator(str(folder)).Reload()
    assert [event.step for event in found.Scalars("score")] == [0, 1, 2]
