"""The types a body plan is declared with: sections, chains of sections, markings, and the plan that holds them.

A plan is written down for one typical animal standing at rest: +X forward, Y up, +Z to its right, ground at y = 0, in
whatever unit suits the animal. Only the right half is written; paired chains are mirrored. Individuals differ by *traits*,
factors near one that stretch or thicken the chains that name them.
"""

from dataclasses import dataclass, field, replace

from akd.skeleton import Kind

TRAITS = {
    "size": 0.15, "leg": 0.09, "body": 0.09, "neck": 0.10, "head": 0.08, "ear": 0.15, "tail": 0.15, "arm": 0.06,
    "girth": 0.10, "limb": 0.10,
}
"""Every trait, and how far an individual may differ from the plan (log scale) where the plan does not say."""


@dataclass(frozen=True)
class Section:
    """One elliptical cross-section of a chain; a joint too, if it has a name."""

    name: str
    """Joint name; ``*`` stands for left or right. Empty: shape only, moving with the joint before it."""
    x: float
    y: float
    z: float
    width: float
    """Half extent across the chain, sideways."""
    height: float | None = None
    """Half extent across the chain in the other direction; as wide as high when left out."""
    color: str | None = None
    """Palette name from this section on; the chain's colour when left out."""


@dataclass(frozen=True)
class Chain:
    """A tube through sections, attached to a joint; with one section, a ball."""

    name: str
    at: str
    """The joint it is attached to; empty for the one chain that holds the root."""
    trait: str
    """The trait that stretches it."""
    sections: tuple[Section, ...]
    kind: Kind | None = None
    """What limb it is; ``None`` makes it part of the limb it is attached to."""
    paired: bool = False
    """Written for the right side, present on both."""
    color: str = "coat"
    blend: float = 0.6
    """Width of the blend into what it is attached to, as a share of its own thickness there."""
    tilt: float = 0.0
    """How far an individual's chain may swing up or down at its start [degrees]."""
    chance: float = 1.0
    """Share of individuals that have it. Chains of the same name are alternatives: an individual has at most one of them."""
    solid: bool = True
    """False: a decal, which only colours the surface it covers: a mouth, a cheek."""


@dataclass(frozen=True)
class Marking:
    """A pattern laid over the base colours."""

    pattern: str
    """One of ``under``, ``back``, ``patches``, ``spots``, ``stripes``, ``blotches`` (see ``skin``)."""
    color: str
    on: tuple[str, ...]
    """Names of the chains it covers."""
    size: tuple[float, float] = (0.2, 0.3)
    """Range of the pattern's scale [ℓ]."""
    amount: tuple[float, float] = (0.5, 0.5)
    """Range of how much of the surface it covers, 0 to 1."""
    chance: float = 1.0


@dataclass(frozen=True)
class Plan:
    """A kind of animal."""

    name: str
    metres: float
    """Metres per unit of the declaration."""
    chains: tuple[Chain, ...]
    """Parents before children; the first holds the root."""
    palettes: tuple[dict[str, str], ...]
    """Typical colourings (``#rrggbb`` by name); an individual mixes two of them."""
    wardrobes: tuple[dict[str, str], ...] = ({},)
    """Further colours, drawn independently of the palette: clothes."""
    markings: tuple[Marking, ...] = ()
    traits: dict[str, float] = field(default_factory=dict)
    """Ranges that differ from ``TRAITS``."""
    typical: dict[str, float] = field(default_factory=dict)
    """Traits whose middle is not one: a child is a human with a large head."""
    main_color: str = "coat"
    """The palette name that a colour word in a sentence refers to."""
    words: str = ""
    """Nouns that mean this plan, its own name among them, separated by spaces; the name alone when left out."""

    def nouns(self) -> tuple[str, ...]:
        """The words for this plan. Those that ``replace`` took over from another plan lack its own name and do not count."""
        words = tuple(self.words.split())
        return words if self.name in words else (self.name,)

    def ranges(self) -> dict[str, float]:
        """How far each trait may differ from one, on a log scale."""
        return TRAITS | self.traits

    def reshaped(self, factors: dict[str, float]) -> "Plan":
        """The plan with chains of the given names thicker or thinner throughout: a bushy tail, a heavy head."""
        return replace(self, chains=tuple(_thicker(chain, factors.get(chain.name, 1.0)) for chain in self.chains))

    def with_chains(self, *chains: Chain) -> "Plan":
        """The plan with its chains of the same names replaced, and the others added."""
        first = {chain.name: i for i, chain in reversed(list(enumerate(self.chains)))}
        kept = [(i, chain) for i, chain in enumerate(self.chains) if chain.name not in {new.name for new in chains}]
        new = [(first.get(chain.name, len(self.chains)), chain) for chain in chains]
        return replace(self, chains=tuple(chain for _, chain in sorted(kept + new, key=lambda entry: entry[0])))

    def without(self, *names: str) -> "Plan":
        """The plan without the chains whose names begin like one of these."""
        return replace(self, chains=tuple(chain for chain in self.chains if not chain.name.startswith(names)))


def _thicker(chain: Chain, factor: float) -> Chain:
    def grown(section: Section) -> Section:
        height = None if section.height is None else section.height * factor
        return replace(section, width=section.width * factor, height=height)

    return replace(chain, sections=tuple(map(grown, chain.sections)))
