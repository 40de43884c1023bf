"""Plans on six and eight legs: ant, beetle, spider. Units are millimetres."""

import numpy as np

from akd.creatures.plan import Chain, Marking, Plan
from akd.creatures.plan import Section as S


def _leg(
    rank: int, at: str, hip: tuple[float, float, float], heading: float, reach: float, knee: float, thick: float,
    color: str = "leg",
) -> Chain:
    """A leg that leaves the body sideways, rises to a knee and comes down to the ground.

    ``heading`` is the direction it leaves in (0 straight out, 90 forward) [degrees], ``reach`` how far, ``knee`` how high.
    """
    x, y, z = hip
    ahead, out = np.sin(np.deg2rad(heading)), np.cos(np.deg2rad(heading))
    profile = (
        (0.0, y, 0.95, "coxa"), (0.14, y + 0.12 * (knee - y), 0.95, "femur"), (0.3, 0.7 * knee + 0.3 * y, 1.15, ""),
        (0.46, knee, 0.85, "tibia"), (0.64, 0.62 * knee, 0.85, ""), (0.86, 0.16 * knee, 0.66, "tarsus"),
        (0.93, 0.6 * thick, 0.64, ""), (1.0, 0.35 * thick, 0.62, ""),
    )
    sections = tuple(
        S(f"leg_{rank}_*_{name}" if name else "", x + ahead * reach * along, height, z + out * reach * along, thick * radius)
        for along, height, radius, name in profile
    )
    return Chain(f"leg_{rank}", at, "leg", sections, "leg", paired=True, color=color, blend=0.5)


ANT = Plan(
    "ant", 0.001,
    chains=(
        Chain("spine", "", "body", (
            S("", -3.2, 5.1, 0, 0.7), S("thorax", -2, 5.2, 0, 1.25, 1.3), S("thorax_2", 0.6, 5.4, 0, 1.2, 1.3),
            S("", 2.6, 5.7, 0, 1.35, 1.4), S("", 4, 5.7, 0, 0.8),
        ), "spine"),
        Chain("waist", "thorax", "body", (S("waist", -3.4, 5.1, 0, 0.55), S("", -4.4, 5.4, 0, 0.72, 0.95),
            S("", -5.4, 5.2, 0, 0.5)), blend=0.3),
        Chain("gaster", "waist", "body", (
            S("gaster", -5.4, 5.2, 0, 0.6), S("", -6.8, 5.6, 0, 2.1, 2.0), S("gaster_2", -9, 5.8, 0, 2.7, 2.5),
            S("", -11.2, 5.4, 0, 2.0, 1.8), S("", -12.8, 4.9, 0, 0.6),
        ), blend=0.3, tilt=6),
        Chain("head", "thorax_2", "head", (S("head", 4.2, 5.8, 0, 0.8), S("", 5.4, 6.2, 0, 2.0, 1.7),
            S("", 7.2, 5.9, 0, 2.1, 1.6), S("", 8.6, 5.3, 0, 1.2, 1.0)), "head", blend=0.3),
        Chain("mandible", "head", "head", (S("*_mandible", 8.6, 5, 0.9, 0.55), S("", 9.8, 4.7, 1.2, 0.5),
            S("", 10.8, 4.5, 0.6, 0.34)), paired=True, color="dark", blend=0.3),
        Chain("eye", "head", "head", (S("", 7, 6.7, 1.75, 0.62),), paired=True, color="eye", blend=0.15),
        Chain("antenna", "head", "ear", (
            S("*_antenna_1", 8, 6.4, 0.9, 0.42), S("", 9.2, 8, 2, 0.36), S("*_antenna_2", 10.2, 9, 2.8, 0.38),
            S("", 12.2, 8, 3.6, 0.36), S("", 13.8, 6.8, 4.2, 0.42),
        ), paired=True, color="leg", blend=0.3),
        _leg(1, "thorax_2", (2.6, 4.9, 0.9), 38, 8.2, 6.2, 0.62),
        _leg(2, "thorax_2", (0.4, 4.7, 1.0), -6, 8.4, 6.4, 0.62),
        _leg(3, "thorax", (-1.8, 4.6, 1.0), -46, 10.2, 6.8, 0.62),
    ),
    palettes=(
        {"coat": "#7a2f1c", "leg": "#5e2416", "dark": "#2c120c", "eye": "#120907", "band": "#a5532f"},
        {"coat": "#2a2321", "leg": "#1f1a18", "dark": "#110d0c", "eye": "#4a3a34", "band": "#4a3d37"},
        {"coat": "#a8692c", "leg": "#8a5322", "dark": "#4a2a12", "eye": "#140b07", "band": "#c98d4c"},
    ),
    markings=(Marking("stripes", "band", ("gaster",), (0.45, 0.6), (0.25, 0.4), chance=0.8),),
    traits={"girth": 0.08, "limb": 0.08},
    words="ant insect bug termite",
)
BEETLE = Plan(
    "beetle", 0.002,
    chains=(
        Chain("spine", "", "body", (
            S("", -9.4, 4.6, 0, 1.6, 1.2), S("", -7.5, 4.9, 0, 4, 2.6, "shell"), S("abdomen", -4, 5.3, 0, 5.3, 3.7),
            S("thorax", 1, 5.4, 0, 5.4, 3.9),
            S("", 4, 5.1, 0, 4.6, 3.1), S("", 5.4, 4.9, 0, 3.6, 2.2),
        ), "spine", color="shell"),
        Chain("collar", "thorax", "body", (S("collar", 5, 4.9, 0, 4.2, 2.6), S("", 7.4, 4.7, 0, 3.4, 2.2)), blend=0.15),
        Chain("head", "collar", "head", (S("head", 7.6, 4.6, 0, 2.6, 1.8), S("", 9.4, 4.4, 0, 2.1, 1.5)), "head", blend=0.2),
        Chain("mandible", "head", "head", (S("*_mandible", 10.2, 4, 0.9, 0.6), S("", 11.6, 3.9, 1.3, 0.5),
            S("", 12.6, 3.9, 0.7, 0.4)), paired=True, blend=0.3),
        Chain("eye", "head", "head", (S("", 9.4, 5.2, 1.9, 0.8),), paired=True, color="white", blend=0.15),
        Chain("pupil", "head", "head", (S("", 10, 5.4, 2.4, 0.5),), paired=True, color="eye", solid=False),
        Chain("antenna", "head", "ear", (
            S("*_antenna_1", 9.8, 5.2, 0.9, 0.42), S("", 11.2, 6.8, 1.8, 0.38), S("*_antenna_2", 12.4, 7.6, 2.6, 0.38),
            S("", 13.8, 7.4, 3.4, 0.55),
        ), paired=True, blend=0.3),
        _leg(1, "thorax", (3.4, 3.2, 2.8), 34, 6.6, 4.6, 0.72, "coat"),
        _leg(2, "thorax", (0.2, 3.0, 3.2), -8, 7.0, 4.8, 0.72, "coat"),
        _leg(3, "abdomen", (-3.4, 3.0, 3.0), -44, 8.2, 5.0, 0.72, "coat"),
    ),
    palettes=(
        {"shell": "#c4281f", "coat": "#1d1918", "spot": "#171312", "eye": "#0d0a09", "white": "#efe9df"},
        {"shell": "#2f6e3f", "coat": "#1d2a20", "spot": "#8fb53c", "eye": "#0d0a09", "white": "#e8e2c8"},
        {"shell": "#27304f", "coat": "#181a24", "spot": "#4a64a8", "eye": "#0d0a09", "white": "#e2e4ea"},
        {"shell": "#e0a024", "coat": "#231a12", "spot": "#231a12", "eye": "#0d0a09", "white": "#f2ead2"},
    ),
    markings=(Marking("spots", "spot", ("spine",), (0.9, 1.3), (0.2, 0.5), chance=0.8),),
    traits={"girth": 0.08, "limb": 0.08}, main_color="shell",
    words="beetle ladybug ladybird cockroach scarab",
)
SPIDER = Plan(
    "spider", 0.002,
    chains=(
        Chain("spine", "", "body", (
            S("", -4, 9.2, 0, 2.4, 2), S("thorax", -1, 9.6, 0, 4.4, 3.1), S("", 3, 9.6, 0, 4.2, 3.1),
            S("", 6.2, 9.4, 0, 2.6, 2.2),
        ), "spine"),
        Chain("abdomen", "thorax", "body", (
            S("abdomen", -4.6, 9.4, 0, 1.5), S("", -7.4, 10.6, 0, 4.8, 4.4), S("abdomen_2", -12, 11.6, 0, 6.8, 6.2),
            S("", -16.6, 11, 0, 5.4, 4.8), S("", -20.4, 9.8, 0, 1.4),
        ), color="back", blend=0.5, tilt=8),
        Chain("head", "thorax", "head", (S("head", 4.5, 9.8, 0, 3.2, 2.6), S("", 7.2, 9.6, 0, 2.6, 2.2)), "head"),
        Chain("fang", "head", "head", (S("*_fang", 7.8, 8.2, 1.4, 1.2), S("", 8.6, 6, 1.5, 1.0),
            S("", 8.6, 4.4, 1.5, 0.6, None, "dark")), paired=True, blend=0.3),
        Chain("palp", "head", "head", (S("", 7, 9, 2.0, 0.9), S("", 10.8, 9.8, 2.7, 0.85), S("", 13.8, 7.6, 2.7, 0.85),
            S("", 14.8, 6, 2.6, 0.9)), paired=True, color="leg", blend=0.3),
        Chain("eye", "head", "head", (S("", 8.9, 11, 1.15, 0.95),), paired=True, color="eye", blend=0.15),
        Chain("side_eye", "head", "head", (S("", 8, 11.6, 2.6, 0.68),), paired=True, color="eye", blend=0.15),
        _leg(1, "thorax", (4.5, 8.6, 2.6), 50, 21, 14.4, 1.15),
        _leg(2, "thorax", (1.7, 8.5, 3.4), 17, 19, 14.0, 1.15),
        _leg(3, "thorax", (-1.1, 8.5, 3.4), -17, 18, 13.6, 1.15),
        _leg(4, "thorax", (-3.6, 8.6, 2.6), -50, 21, 14.4, 1.15),
    ),
    palettes=(
        {"coat": "#4a382c", "back": "#3a2a20", "leg": "#54402f", "mark": "#b5793f", "dark": "#14100d", "eye": "#0a0807"},
        {"coat": "#221f20", "back": "#1b1819", "leg": "#2a2627", "mark": "#b32a22", "dark": "#0d0b0b", "eye": "#5a1512"},
        {"coat": "#8a6a42", "back": "#a8864f", "leg": "#7a5c3a", "mark": "#e3cf9a", "dark": "#2c2016", "eye": "#0d0a07"},
        {"coat": "#3b3f45", "back": "#2c3036", "leg": "#44474d", "mark": "#d08a3a", "dark": "#121315", "eye": "#0a0a0b"},
    ),
    markings=(
        Marking("stripes", "mark", ("leg_1", "leg_2", "leg_3", "leg_4"), (0.55, 0.8), (0.2, 0.4), chance=0.6),
        Marking("spots", "mark", ("abdomen",), (0.35, 0.6), (0.2, 0.5), chance=0.6),
        Marking("back", "mark", ("abdomen",), amount=(0.06, 0.15), chance=0.4),
    ),
    traits={"girth": 0.1, "limb": 0.1},
    words="spider tarantula arachnid",
)
