"""Reading clips and finding the subject: every way in gives the same frames; what cannot be followed is a sentence."""

import contextlib

import numpy as np
import pytest
import torch
from PIL import Image

from akd.errors import AkdError
from akd.files.video import write_video
from akd.follow.begin import read_subject
from akd.follow.clip import even_times, find_cut, read_clip
from akd.follow.subject import find_subject

pytest.importorskip("av")
pytest.importorskip("cv2")


def moving_disc(count=12, height=90, width=120, background=(0.9, 0.85, 0.8), noise=0.0):
    """A dark disc that crosses the picture, and where it is."""
    y, x = np.mgrid[:height, :width]
    rng = np.random.default_rng(0)
    frames, masks = [], []
    for index in range(count):
        mask = (x - 35 - 3 * index) ** 2 + (y - 45) ** 2 < 15**2
        frame = np.where(mask[..., None], (0.2, 0.3, 0.5), background) + noise * rng.normal(size=(height, width, 3))
        frames.append(frame)
        masks.append(mask)
    return torch.from_numpy(np.clip(np.stack(frames), 0, 1)).float(), np.stack(masks)


def overlap(a, b):
    return (a & b).sum() / (a | b).sum()


@pytest.mark.parametrize("kind", ["mp4", "gif", "folder"])
def test_every_way_in(tmp_path, kind):
    frames, masks = moving_disc()
    if kind == "folder":
        path = tmp_path / "frames"
        path.mkdir()
        for index, frame in enumerate(frames):
            Image.fromarray(np.uint8(255 * frame.numpy())).save(path / f"{index}.png")
        clip = read_clip(path, fps=10)
    else:
        path = tmp_path / f"clip.{kind}"
        write_video(path, frames, 10)
        clip = read_clip(path)
    assert clip.frame_count == 12
    assert clip.size == (120, 90)
    assert abs(clip.fps - 10) < 0.1
    subject = find_subject(clip)
    assert subject.source == "plain background"
    assert subject.confidence > 0.5
    assert min(overlap(a, b) for a, b in zip(subject.masks, masks, strict=True)) > 0.93


def test_a_part_of_a_clip(tmp_path):
    write_video(tmp_path / "clip.mp4", moving_disc()[0], 10)
    clip = read_clip(tmp_path / "clip.mp4", start=0.3, end=0.81)
    assert clip.frame_count == 6
    assert abs(clip.start - 0.3) < 0.02


def test_large_pictures_are_read_small(tmp_path):
    frames, _ = moving_disc(6)
    write_video(tmp_path / "clip.mp4", frames.repeat_interleave(10, 1).repeat_interleave(10, 2), 10)
    clip, _ = read_subject(tmp_path / "clip.mp4")
    assert clip.size == (1200, 900)
    assert max(clip.frames.shape[1:3]) <= 1024
    assert max(read_clip(tmp_path / "clip.mp4", side=96).frames.shape[1:3]) == 96


def test_uneven_times_become_even():
    times = np.array((0.0, 0.04, 0.08, 0.20, 0.24, 0.28, 0.32))
    chosen, fps = even_times(times)
    assert abs(fps - 25) < 1e-6
    np.testing.assert_allclose(times[chosen], np.arange(9) / 25, atol=0.061)
    assert even_times(np.arange(60) / 60)[1] == pytest.approx(30)


def test_a_cut_is_found_and_a_fast_motion_is_none():
    frames, _ = moving_disc()
    other, _ = moving_disc(background=(0.2, 0.5, 0.3))
    cut = np.uint8(255 * torch.cat((frames[:7], other[7:])).numpy())
    assert find_cut(cut) == 7
    assert find_cut(np.uint8(255 * frames.numpy())) is None


def test_a_cut_is_refused_with_its_time(tmp_path):
    frames, other = moving_disc()[0], moving_disc(background=(0.2, 0.5, 0.3))[0]
    write_video(tmp_path / "clip.mp4", torch.cat((frames[:7], other[7:])), 10)
    with pytest.raises(AkdError, match=r"cut at 0\.70 s"):
        read_clip(tmp_path / "clip.mp4")
    assert read_clip(tmp_path / "clip.mp4", end=0.6).frame_count == 7


def test_alpha_and_masks_are_taken_as_they_are(tmp_path):
    frames, masks = moving_disc(background=(0.2, 0.3, 0.5))  # the same colour as the disc: nothing else could tell
    for name in ("clear", "plain", "masks"):
        (tmp_path / name).mkdir()
    for index, (frame, mask) in enumerate(zip(frames, masks, strict=True)):
        colour, alpha = np.uint8(255 * frame.numpy()), np.uint8(255 * mask)
        Image.fromarray(np.dstack((colour, alpha))).save(tmp_path / "clear" / f"{index:03}.png")
        Image.fromarray(colour).save(tmp_path / "plain" / f"{index:03}.png")
        Image.fromarray(alpha).save(tmp_path / "masks" / f"{index:03}.png")
    assert (find_subject(read_clip(tmp_path / "clear")).masks == masks).all()
    plain = read_clip(tmp_path / "plain")
    assert (find_subject(plain, masks=tmp_path / "masks").masks == masks).all()
    with pytest.raises(AkdError, match="No subject stands out"):
        find_subject(plain)


def test_a_busy_background_that_stands_still():
    busy = np.random.default_rng(1).random((90, 120, 3)) * 0.6 + 0.4
    frames, masks = moving_disc(24)
    frames = np.where(masks[..., None], (0.1, 0.1, 0.2), busy)
    from akd.follow.clip import Clip

    subject = find_subject(Clip(np.uint8(255 * frames), 10.0, 0.0, (120, 90)))
    assert subject.source == "still background"
    assert subject.confidence < 0.9
    assert np.mean([overlap(a, b) for a, b in zip(subject.masks, masks, strict=True)]) > 0.7


@pytest.mark.parametrize("kind", ["absent", "text", "empty", "two frames", "black", "sound", "folder"])
def test_what_cannot_be_followed_is_a_sentence(tmp_path, kind):
    path = tmp_path / "clip.mp4"
    if kind == "text":
        path.write_text("no video")
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "two frames":
        write_video(path, moving_disc(2)[0], 10)
    elif kind == "black":
        write_video(path, torch.zeros(8, 64, 64, 3), 10)
    elif kind == "folder":
        path.mkdir()
    elif kind == "sound":
        path = tmp_path / "sound.wav"
        path.write_bytes(b"RIFF\x24\x00\x00\x00WAVEfmt ")
    with pytest.raises(AkdError) as caught:
        read_subject(path)
    assert "\n" not in str(caught.value)


def test_a_damaged_video_gives_its_frames_or_a_sentence(tmp_path):
    path = tmp_path / "clip.mp4"
    write_video(path, moving_disc(24)[0], 10)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(12):
        broken = bytearray(whole[: rng.integers(50, len(whole))] if rng.random() < 0.5 else whole)
        for place in rng.integers(0, len(broken), 20):
            broken[place] = rng.integers(256)
        path.write_bytes(bytes(broken))
        with contextlib.suppress(AkdError):  # any other exception is ours
            read_subject(path)


def test_a_long_clip_is_refused_before_it_is_read(tmp_path):
    frames = torch.rand(1, 32, 32, 3).expand(60, -1, -1, -1)
    write_video(tmp_path / "clip.mp4", frames, 0.5)
    with pytest.raises(AkdError, match=r"--from 0 --to 20"):
        read_clip(tmp_path / "clip.mp4")
