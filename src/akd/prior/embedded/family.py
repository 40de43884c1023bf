"""The embedded prior, and others of its kind: small CogVideoX models that run as plain torch modules."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from akd.errors import AkdError
from akd.prior.embedded import autoencoder, text_encoder, transformer
from akd.prior.embedded.autoencoder import Autoencoder
from akd.prior.embedded.text_encoder import TextEncoder
from akd.prior.embedded.tokenizer import UnigramTokenizer
from akd.prior.embedded.transformer import Transformer
from akd.prior.family import Condition, Family, FilmGrid, Pixels, TextEmbedding, beside, posterior_mean
from akd.prior.folder import read_object
from akd.prior.schedule import Latents, NoiseSchedule, diffusion_schedule
from akd.render.film import FilmSettings

CLASSES = {
    "transformer": "CogVideoXTransformer3DModel", "vae": "AutoencoderKLCogVideoX",
    "text_encoder": "T5EncoderModel", "scheduler": "CogVideoXDDIMScheduler",
}  # fmt: skip
"""Classes of diffusers and transformers that the modules here stand for, by their place in ``model_index.json``."""
PIPELINES = ("CogVideoXPipeline", "CogVideoXImageToVideoPipeline")
"""Pipelines that the modules here stand for: the second takes the encoded first frame on further channels."""
SCHEDULE = {"prediction_type": "v_prediction", "beta_schedule": "scaled_linear", "trained_betas": None}
"""Settings of the noise schedule that have no alternative here."""


@dataclass(frozen=True)
class Configuration:
    """The JSON files of a pipeline's folder."""

    transformer: Mapping[str, Any]
    vae: Mapping[str, Any]
    text_encoder: Mapping[str, Any]
    scheduler: Mapping[str, Any]
    tokenizer: Mapping[str, Any]

    @classmethod
    def read(cls, folder: Path) -> "Configuration | None":
        """What a folder holds; ``None`` if it lacks one of the files."""
        files = [folder / part / "config.json" for part in ("transformer", "vae", "text_encoder")]
        files += [folder / "scheduler" / "scheduler_config.json", folder / "tokenizer" / "tokenizer.json"]
        return cls(*map(read_object, files)) if all(file.is_file() for file in files) else None

    @property
    def takes_first_frame(self) -> bool:
        """Whether the network reads latents twice: noisy ones, and those of the first frame."""
        return self.transformer["in_channels"] == 2 * self.vae["latent_channels"]

    @property
    def supported(self) -> bool:
        """Whether every setting is one that the modules here implement."""
        parts = (
            (self.transformer, transformer.FIXED), (self.vae, autoencoder.FIXED), (self.text_encoder, text_encoder.FIXED),
            (self.scheduler, SCHEDULE),
        )  # fmt: skip
        fixed = all(name in config and config[name] == value for config, values in parts for name, value in values.items())
        return fixed and UnigramTokenizer.supports(self.tokenizer)


def embedded_family(
    folder: Path, index: Mapping[str, Any], *, dtype: torch.dtype = torch.float32, device: str = "cpu"
) -> "EmbeddedCogVideoX | None":
    """The model of a folder as plain torch modules; ``None`` if it is of another kind."""
    config = embedded_configuration(folder, index)
    return None if config is None else EmbeddedCogVideoX.load(folder, config, dtype=dtype, device=device)


def embedded_configuration(folder: Path, index: Mapping[str, Any]) -> Configuration | None:
    """What a folder holds if the modules here can run it; ``None`` if it is of another kind."""
    named = {part: entry[1] if isinstance(entry, list) else entry for part, entry in index.items()}
    known = named.get("_class_name") in PIPELINES and all(named.get(part) == name for part, name in CLASSES.items())
    config = Configuration.read(folder) if known else None
    if config is None or not config.supported or config.takes_first_frame != (named["_class_name"] == PIPELINES[1]):
        return None
    return config


class EmbeddedCogVideoX(Family):
    """A small CogVideoX model without diffusers and transformers."""

    encode_chunk_frames = 9

    def __init__(self, config: Configuration, network: Transformer, vae: Autoencoder, text_encoder: TextEncoder) -> None:
        self.takes_first_frame = config.takes_first_frame
        self.pipeline_class = PIPELINES[self.takes_first_frame]
        self.config, self._network, self._vae, self.text_encoder = config, network, vae, text_encoder
        self.tokenizer = UnigramTokenizer.read(config.tokenizer)

    @classmethod
    def load(cls, folder: Path, config: Configuration, *, dtype: torch.dtype, device: str) -> "EmbeddedCogVideoX":
        """The weights of a folder."""
        network, vae = Transformer(config.transformer), Autoencoder(config.vae)
        words = TextEncoder(config.text_encoder)
        for part, module in (("transformer", network), ("vae", vae), ("text_encoder", words)):
            _load_weights(module, folder / part)
            module.requires_grad_(False).eval().to(device, dtype)
        return cls(config, network, vae.without_zeros(), words)

    @property
    def network(self) -> Transformer:
        return self._network

    @property
    def vae(self) -> Autoencoder:
        return self._vae

    @property
    def device(self) -> torch.device:
        return self._network.proj_out.weight.device

    @property
    def text_device(self) -> torch.device:
        return self.device

    def drop_text_encoder(self) -> None:
        """It is so small that it stays."""

    @property
    def max_text_tokens(self) -> int:
        return int(self.config.transformer["max_text_seq_length"])

    @property
    def unknown_token(self) -> int:
        return self.tokenizer.unknown

    def tokens(self, text: str) -> list[int]:
        return self.tokenizer.tokens(text)

    @property
    def grid(self) -> FilmGrid:
        _, in_time, side = self.compression
        return FilmGrid(side * self.config.transformer["patch_size"], 1, in_time)

    @property
    def film(self) -> FilmSettings:
        config, (_, _, side) = self.config.transformer, self.compression
        width, height = config["sample_width"] * side, config["sample_height"] * side
        return FilmSettings(width=width, height=height, frames=config["sample_frames"], fps=8.0, look="natural")

    @property
    def compression(self) -> tuple[int, int, int]:
        config = self.config.vae
        return config["latent_channels"], config["temporal_compression_ratio"], 2 ** (len(config["block_out_channels"]) - 1)

    def schedule(self) -> NoiseSchedule:
        return diffusion_schedule("v", alphas_cumprod(self.config.scheduler))

    def embed(self, text: str) -> TextEmbedding:
        tokens = torch.tensor([self.tokenizer.padded(text, self.max_text_tokens)], device=self.device)
        return {"encoder_hidden_states": self.text_encoder(tokens)}

    def encode(self, video: Pixels) -> Latents:
        return posterior_mean(self.vae.encode(video)) * self.config.vae["scaling_factor"]

    def decode(self, latents: Latents) -> Pixels:
        """The decoder takes the first cell as a single frame only if their number is odd; else one more is put in front."""
        plain = latents / self.config.vae["scaling_factor"]
        if plain.shape[2] % 2:
            return self.vae.decode(plain)
        return self.vae.decode(torch.cat((plain[:, :, :1], plain), 2))[:, :, self.compression[1] :]

    def condition(self, picture: Pixels, cells: int) -> Condition:
        return Condition(self.encode(picture), 1) if self.takes_first_frame else super().condition(picture, cells)

    def predict(self, z_t: Latents, time: Tensor, text: TextEmbedding, condition: Condition | None = None) -> Latents:
        seen = beside(z_t, condition) if self.takes_first_frame else z_t
        return self.network(seen, time, text["encoder_hidden_states"])


def alphas_cumprod(config: Mapping[str, Any]) -> Tensor:
    """ᾱ of every training step: betas linear in their root, the SNR shifted, the last step without any signal if wanted."""
    ends = config["beta_start"] ** 0.5, config["beta_end"] ** 0.5
    betas = torch.linspace(*ends, config["num_train_timesteps"], dtype=torch.float64) ** 2
    table, shift = torch.cumprod(1 - betas, 0), config["snr_shift_scale"]
    table = table / (shift + (1 - shift) * table)
    if not config["rescale_betas_zero_snr"]:
        return table
    root = table.sqrt()
    return ((root - root[-1]) * (root[0] / (root[0] - root[-1]))) ** 2


def _load_weights(module: nn.Module, folder: Path) -> None:
    from safetensors.torch import load_file

    weights: dict[str, Tensor] = {}
    for file in sorted(folder.glob("*.safetensors")):
        weights |= load_file(file)
    weights.pop("encoder.embed_tokens.weight", None)  # some files hold T5's shared word vectors twice
    try:
        module.load_state_dict(weights)
    except RuntimeError as error:
        reason = str(error).split("\n")[1].strip()[:150].rstrip(".")
        raise AkdError(f"The weights in {folder} do not fit its config.json ({reason}): copy the whole folder again.") from error
