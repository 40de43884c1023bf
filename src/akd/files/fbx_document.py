"""The parts of an FBX file around its objects: header, settings, definitions, connections, takes."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import akd
from akd.files.fbx_binary import CREATION_TIME, FILE_ID, VERSION, Element, Long, Raw, add_properties, encode
from akd.files.scene import SceneClip

TICKS = 46_186_158_000
"""Units of time in a second."""
TIME_MODES = {120.0: 1, 100.0: 2, 60.0: 3, 50.0: 4, 48.0: 5, 30.0: 6, 25.0: 10, 24.0: 11}
"""The format's numbers of frame rates; any other is 14, with the rate beside it."""
CUSTOM_RATE = 14
AXES = {
    "UpAxis": 1, "UpAxisSign": 1, "FrontAxis": 2, "FrontAxisSign": 1, "CoordAxis": 0, "CoordAxisSign": 1, "OriginalUpAxis": 1,
    "OriginalUpAxisSign": 1,
}  # fmt: skip
"""Y up, Z to the front, X to the right."""
CREATED = {"Year": 1970, "Month": 1, "Day": 1, "Hour": 10, "Minute": 0, "Second": 0, "Millisecond": 0}
"""The fixed time of ``fbx_binary.CREATION_TIME`` once more."""


def ticks(seconds: float) -> int:
    """A time as the format counts it."""
    return round(seconds * TICKS)


@dataclass
class FbxDocument:
    """The objects of a file and how they hang together; both grow while a scene is written."""

    objects: Element = field(default_factory=lambda: Element("Objects"))
    connections: Element = field(default_factory=lambda: Element("Connections"))
    latest: int = 1_000_000
    """The identifier that was given last; zero is the scene."""

    def add(self, kind: str, name: str, category: str, variant: str = "") -> tuple[Element, int]:
        """A new object and its identifier. In binary files a name is followed by two bytes and its category."""
        self.latest += 1
        return self.objects(kind, Long(self.latest), f"{name}\x00\x01{category}", variant), self.latest

    def connect(self, child: int, parent: int, driven: str | None = None) -> None:
        """Put an object below another, or make it drive a property of it."""
        kind = ("OO",) if driven is None else ("OP",)
        self.connections("C", *kind, Long(child), Long(parent), *(() if driven is None else (driven,)))

    def to_bytes(self, clips: Sequence[SceneClip]) -> bytes:
        """The file."""
        file_id, created = Element("FileId", Raw(FILE_ID)), Element("CreationTime", CREATION_TIME)
        creator = Element("Creator", f"akd {akd.__version__}")
        parts = [_header(), file_id, created, creator, _settings(clips), _documents(), Element("References")]
        return encode([*parts, self._definitions(), self.objects, self.connections, _takes(clips)])

    def _definitions(self) -> Element:
        """How many objects of each kind there are."""
        counts = Counter(child.name for child in self.objects.children) + Counter({"GlobalSettings": 1})
        out = Element("Definitions")
        out("Version", 100)
        out("Count", sum(counts.values()))
        for kind, count in counts.items():
            out("ObjectType", kind)("Count", count)
        return out


def _header() -> Element:
    header = Element("FBXHeaderExtension")
    header("FBXHeaderVersion", 1003)
    header("FBXVersion", VERSION)
    header("EncryptionType", 0)
    stamp = header("CreationTimeStamp")
    stamp("Version", 1000)
    for name, value in CREATED.items():
        stamp(name, value)
    header("Creator", f"akd {akd.__version__}")
    return header


def _settings(clips: Sequence[SceneClip]) -> Element:
    """Axes, centimetres, and the frame rate of the first clip."""
    settings = Element("GlobalSettings")
    settings("Version", 1000)
    rate, longest = clips[0].fps if clips else 30.0, max((clip.duration for clip in clips), default=1.0)
    known = next((mode for usual, mode in TIME_MODES.items() if abs(usual - rate) < 1e-3), CUSTOM_RATE)
    add_properties(
        settings, *((name, "int", value) for name, value in AXES.items()),
        ("UnitScaleFactor", "double", 1.0), ("OriginalUnitScaleFactor", "double", 1.0),
        ("TimeMode", "enum", known), ("CustomFrameRate", "double", rate if known == CUSTOM_RATE else -1.0),
        ("TimeSpanStart", "KTime", Long(0)), ("TimeSpanStop", "KTime", Long(ticks(longest))),
    )  # fmt: skip
    return settings


def _documents() -> Element:
    out = Element("Documents")
    out("Count", 1)
    scene = out("Document", Long(999_999), "", "Scene")
    add_properties(scene, ("SourceObject", "object"), ("ActiveAnimStackName", "KString", ""))
    scene("RootNode", Long(0))
    return out


def _takes(clips: Sequence[SceneClip]) -> Element:
    """The clips once more, as older programs look for them."""
    takes = Element("Takes")
    takes("Current", clips[0].name if clips else "")
    for index, clip in enumerate(clips):
        take = takes("Take", clip.name)
        take("FileName", f"clip{index}.tak")
        take("LocalTime", Long(0), Long(ticks(clip.duration)))
        take("ReferenceTime", Long(0), Long(ticks(clip.duration)))
    return takes
