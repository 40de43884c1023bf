"""How a clip is filmed, as a value with a file format."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from akd.errors import AkdError
from akd.render.follow_camera import View
from akd.render.ground import Ground
from akd.render.looks import Color, Look
from akd.render.shadow import Shadow


@dataclass(frozen=True)
class FilmSettings:
    """How a clip is filmed. A video prior's folder keeps the settings it was trained with as ``film.json``."""

    width: int = 64
    """Picture width [px]."""
    height: int = 64
    """Picture height [px]."""
    frames: int = 17
    """How many frames the prior looks at together."""
    fps: float = 12.0
    """Frames per second of what the prior has seen; the motion itself is filmed frame by frame as it is."""
    azimuth: tuple[float, float] = (50.0, 70.0)
    """Range the camera stands in: 0 = in front, 90 = on the character's right [degrees]."""
    elevation: tuple[float, float] = (16.0, 26.0)
    """Range above the horizon [degrees]."""
    distance: tuple[float, float] = (1.0, 1.15)
    """Range of distances; at 1 the sphere around the character at rest just fits the picture, whatever its size."""
    fov: float = 30.0
    """Full vertical field of view [degrees]."""
    follow: float = 0.5
    """How slowly the camera follows the middle of the character's bounding box: time of its Gaussian mean [s]."""
    look: Look = "marker"
    background: Color = (0.80, 0.86, 0.92)
    ground: Ground | None = field(default_factory=Ground)
    """``None`` leaves the plain background."""
    shadow: Shadow | None = field(default_factory=Shadow)
    """``None`` for none; there is none without ground, either."""

    def __post_init__(self) -> None:
        for name in ("width", "height", "frames", "fps"):
            if not getattr(self, name) > 0:
                raise AkdError(f"Film setting {name!r} must be positive, not {getattr(self, name)}.")
        for name in ("azimuth", "elevation", "distance"):
            low, high = getattr(self, name)
            if low > high:
                raise AkdError(f"Film setting {name!r} is a range from low to high, not ({low}, {high}).")
        if not 0 < self.fov < 180 or not self.distance[0] > 0:
            raise AkdError(f"Field of view [degrees] and distances must be positive, not {self.fov} and {self.distance[0]}.")

    @property
    def view(self) -> View:
        """The middle of the camera's range."""
        return View(*(sum(ends) / 2 for ends in (self.azimuth, self.elevation, self.distance)))

    def sample_views(self, count: int, generator: torch.Generator | None = None) -> list[View]:
        """Random views from the camera's range."""
        low, high = torch.tensor((self.azimuth, self.elevation, self.distance)).T
        return [View(*row.tolist()) for row in low + (high - low) * torch.rand(count, 3, generator=generator)]

    def save(self, path: Path | str) -> None:
        """Write as JSON."""
        Path(path).write_text(json.dumps(asdict(self), indent=2) + "\n")

    @classmethod
    def load(cls, path: Path | str) -> "FilmSettings":
        """Read JSON written by ``save`` or by hand; what is left out keeps its default."""
        path = Path(path)
        if not path.is_file():
            raise AkdError(f"There are no film settings at {path}.")
        try:
            return cls._from_json(json.loads(path.read_text()))
        except (json.JSONDecodeError, TypeError, ValueError) as error:
            raise AkdError(f"{path.name!r} does not hold film settings: {error}.") from error

    @classmethod
    def _from_json(cls, values: dict[str, Any]) -> "FilmSettings":
        for name, part in (("ground", Ground), ("shadow", Shadow)):
            if values.get(name) is not None:
                values[name] = part(**_tuples(values[name]))
        return cls(**_tuples(values))


def _tuples(values: dict[str, Any]) -> dict[str, Any]:
    """JSON has lists where we have tuples."""

    def fixed(value: Any) -> Any:
        return tuple(map(fixed, value)) if isinstance(value, list) else value

    return {name: fixed(value) for name, value in values.items()}
