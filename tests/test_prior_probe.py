"""The probe: a prior that knows the truth wins, one that knows nothing does not, and corruptions are what they are called."""

import pytest
import torch

from akd.creatures.build import creature
from akd.creatures.gaits import gait_motion
from akd.motion import mirror
from akd.prior.prior import VideoPrior
from akd.prior.schedule import Denoised, NoiseSchedule
from akd.training.prior.probe import CLIP_ERRORS, Case, ErrorName, in_phase, probe


class Oracle(VideoPrior):
    """Always predicts the same clip, whatever the input; without a clip, zeros."""

    def __init__(self, clip: torch.Tensor | None) -> None:
        self.clip = clip
        self.schedule = NoiseSchedule("flow")

    def embed(self, text: str) -> dict[str, torch.Tensor]:
        return {"right": torch.tensor([float(text == "right")])}

    def encode(self, video: torch.Tensor) -> torch.Tensor:
        return video.permute(0, 4, 1, 2, 3)

    def denoise(self, z_t, t, text, negative=None, guidance=1.0, condition=None) -> Denoised:  # type: ignore[no-untyped-def]
        x0 = torch.zeros_like(z_t) if self.clip is None else self.clip.permute(3, 0, 1, 2).expand_as(z_t)
        return Denoised(x0 * text["right"], z_t)


def case() -> Case:
    clip = torch.rand(5, 4, 4, 3, generator=torch.Generator().manual_seed(0)) + 0.5
    return Case("blob", "right", "wrong", clip, {"frozen": clip[:1].expand_as(clip), "reversed": clip.flip(0)})


@pytest.mark.parametrize("error", CLIP_ERRORS)
def test_a_prior_that_knows_the_truth_always_wins(error: ErrorName) -> None:
    table = probe(Oracle(case().true), [case()], draws=2, times=(0.5, 0.9), error=error)
    assert set(table.kinds) == {"frozen", "reversed", "wrong caption"}
    assert all(share == 1 for share in table.wins.values())
    assert table.mean("reversed") == 1


def test_a_prior_that_knows_nothing_wins_nothing_by_text_or_order() -> None:
    table = probe(Oracle(None), [case()], draws=2, times=(0.5,))
    assert table.mean("wrong caption") == 0
    assert table.mean("reversed") == 0


def test_in_phase_means_left_and_right_do_the_same() -> None:
    rig = creature("human", 3)
    motion = gait_motion(rig, "walk", fps=8.0, frames=17)
    together = in_phase(rig.skeleton, motion)
    legs = [joint for limb in rig.skeleton.limbs if limb.kind == "leg" for joint in limb.joints]

    def difference(clip) -> torch.Tensor:  # type: ignore[no-untyped-def]
        return (clip.pose.angles - mirror(rig.skeleton, clip).pose.angles)[:, legs].abs().max()

    assert difference(motion) > 0.3
    assert difference(together) < 1e-4
