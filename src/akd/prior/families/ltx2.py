"""LTX-2: films with sound. Films alone are scored here, so the network is called with its two streams apart, as its makers do for
guidance, and its stream of sound gets a single empty token."""

import math

from torch import Tensor

from akd.prior.families.ltx import EIGHT_STEPS, FRAME_RATE, LTXVideo
from akd.prior.family import TextEmbedding
from akd.prior.schedule import NoiseSchedule
from akd.render.film import FilmSettings

MAX_TEXT_TOKENS = 1024


class LTX2(LTXVideo):
    pipeline_class = "LTX2Pipeline"
    residual_block = "LTX2VideoResnetBlock3d"
    unneeded = ("audio_vae", "vocoder", "processor", "prompt_enhancer", "duration_head")

    @property
    def max_text_tokens(self) -> int:
        return MAX_TEXT_TOKENS

    @property
    def film(self) -> FilmSettings:
        return FilmSettings(width=768, height=512, frames=121, fps=FRAME_RATE, look="natural")

    def schedule(self) -> NoiseSchedule:
        """The timestep shift grows with the size of the film: e^2.05 at most, from 4,096 tokens on."""
        largest = self.pipe.scheduler.config.get("max_shift") or 2.05
        return NoiseSchedule("flow", None, self.pipe.scheduler.config.num_train_timesteps, math.exp(largest), EIGHT_STEPS)

    def embed(self, text: str) -> TextEmbedding:
        device = self.text_device
        embedded, mask, *_ = self.pipe.encode_prompt(text, do_classifier_free_guidance=False, device=device)
        side = getattr(self.pipe.tokenizer, "padding_side", "left")
        words, sound_words, mask = self.pipe.connectors(embedded, mask, padding_side=side)
        return {
            "encoder_hidden_states": words, "audio_encoder_hidden_states": sound_words,
            "encoder_attention_mask": mask, "audio_encoder_attention_mask": mask,
        }  # fmt: skip

    def call(
        self, tokens: Tensor, time: Tensor, timestep: Tensor, text: TextEmbedding, cells: tuple[int, int, int]
    ) -> Tensor:  # fmt: skip
        silence = tokens.new_zeros(len(tokens), 1, self.network.config.audio_in_channels)
        return self.network(
            tokens, silence, timestep=timestep, audio_timestep=time, sigma=time, num_frames=cells[0], height=cells[1],
            width=cells[2], fps=FRAME_RATE, audio_num_frames=1, isolate_modalities=True, use_cross_timestep=True,
            return_dict=False, **text,
        )[0]  # fmt: skip


class LTX2Image(LTX2):
    """The same network under the name of its image-to-video pipeline."""

    pipeline_class = "LTX2ImageToVideoPipeline"
