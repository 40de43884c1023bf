"""HunyuanVideo 1.5: sentences go through two text encoders, a first frame through the autoencoder and an image encoder.
Predicts flow; its step-distilled models predict the mean flow between two times."""

import torch
from torch import Tensor

from akd.prior.families.hunyuan import HunyuanVideo
from akd.prior.families.hunyuan15_encoder import encode_in_chunks
from akd.prior.family import Condition, Pixels, TextEmbedding, picture_file, posterior_mean
from akd.prior.schedule import Latents
from akd.render.film import FilmSettings

FRAMES, FRAME_RATE = 121, 24.0
ASPECT = 9, 16
"""Height and width of its makers' films."""


class HunyuanVideo15(HunyuanVideo):
    pipeline_class = "HunyuanVideo15Pipeline"
    encode_chunk_frames = 4
    in_tiles = True  # everywhere, as its makers do it: attention over all cells of a film needs more memory than there is

    @property
    def max_text_tokens(self) -> int:
        return int(self.pipe.tokenizer_max_length)

    @property
    def film(self) -> FilmSettings:
        """The size comes from the area that the network was trained for."""
        target = self.network.config.target_size
        height, width = self.pipe.video_processor.calculate_default_height_width(*ASPECT, target)
        return FilmSettings(width=width, height=height, frames=FRAMES, fps=FRAME_RATE, look="natural")

    def embed(self, text: str) -> TextEmbedding:
        embedded, mask, letters, letter_mask = self.pipe.encode_prompt(text, device=self.text_device)
        return {
            "encoder_hidden_states": embedded, "encoder_attention_mask": mask,
            "encoder_hidden_states_2": letters, "encoder_attention_mask_2": letter_mask,
        }  # fmt: skip

    def encode(self, video: Pixels) -> Latents:
        vae = self.pipe.vae
        return posterior_mean(encode_in_chunks(vae.encoder, video, spill=self.spill)) * vae.config.scaling_factor

    def predict(self, z_t: Latents, time: Tensor, text: TextEmbedding, condition: Condition | None = None) -> Latents:
        """Beside the noisy latents come those of the first frame and its mask, both zero where nothing is given."""
        latents, mask = torch.zeros_like(z_t), torch.zeros_like(z_t[:, :1])
        seen = z_t.new_zeros(len(z_t), self.pipe.vision_num_semantic_tokens, self.pipe.vision_states_dim)
        if condition is not None:
            latents[:, :, : condition.cells], mask[:, :, : condition.cells] = condition.latents.to(z_t), 1.0
            seen = condition.extra["image_embeds"].to(z_t)
        options = dict(text)
        if self.network.config.use_meanflow:
            # The mean flow down to time 0 leads to x0 in one step, which is what all users of a prediction ask for.
            options["timestep_r"] = torch.zeros_like(time, dtype=z_t.dtype)
        return self.network(
            torch.cat((z_t, latents, mask), 1), timestep=time.to(z_t.dtype), image_embeds=seen, return_dict=False, **options
        )[0]


class HunyuanVideo15Image(HunyuanVideo15):
    """The image-to-video models."""

    pipeline_class = "HunyuanVideo15ImageToVideoPipeline"
    takes_first_frame = True

    def condition(self, picture: Pixels, cells: int) -> Condition:
        encoder = self.pipe.image_encoder
        device = next(encoder.parameters()).device
        seen = [self.pipe.encode_image(picture_file(each[None]), 1, device, encoder.dtype) for each in picture]
        return Condition(self.encode(picture), 1, {"image_embeds": torch.cat(seen).to(self.device)})
