"""Sprawling plans: crocodile, lizard."""

from dataclasses import replace

from akd.creatures.plan import Chain, Marking, Plan
from akd.creatures.plan import Section as S

CROCODILE = Plan(
    "crocodile", 0.01,
    chains=(
        Chain("spine", "", "body", (
            S("", -58, 24, 0, 15, 12), S("hips", -44, 24, 0, 18, 13), S("spine_1", -18, 23, 0, 23, 15),
            S("spine_2", 10, 23, 0, 24, 15.5),
            S("chest", 36, 24, 0, 20, 14), S("", 52, 25, 0, 16, 12),
        ), "spine"),
        Chain("neck", "chest", "neck", (S("neck", 50, 26, 0, 16, 12), S("", 66, 28, 0, 14, 11)), "neck", tilt=5),
        Chain("head", "neck", "head", (
            S("head", 68, 29, 0, 15, 10), S("", 80, 30, 0, 16, 9.5), S("", 94, 28, 0, 12.5, 6.5), S("", 112, 26.5, 0, 9.5, 4.6),
            S("", 128, 26.5, 0, 8, 4.2), S("", 134, 27, 0, 7.5, 4.6),
        ), "head"),
        Chain("jaw", "head", "head", (
            S("jaw", 74, 22, 0, 13, 5), S("", 94, 18, 0, 10.5, 3.6), S("", 112, 15, 0, 8.2, 3), S("", 130, 13.5, 0, 6.4, 2.8),
        ), color="belly", blend=0.3),
        *(Chain(f"tooth_{i}", "head", "head", (S("", x, 24.5, z, 1.8),
        S("", x, 22, z, 1.0)), paired=True, color="teeth", blend=0.2)
          for i, (x, z) in enumerate(((98, 10), (107, 8.6), (116, 7.4), (125, 6.4), (133, 4.4)))),
        Chain("brow", "head", "head", (S("", 82, 37, 7.5, 4.5, 4.5),), paired=True, blend=0.7),
        Chain("eye", "head", "head", (S("", 85, 39, 8.8, 3),), paired=True, color="iris", blend=0.1),
        Chain("pupil", "head", "head", (S("", 87, 39.4, 10.8, 1.5),), paired=True, color="eye", solid=False),
        Chain("nostril", "head", "head", (S("", 135, 31, 3.4, 2.2),), paired=True, color="dark", blend=0.6),
        *(Chain(f"scute_{i}", joint, "body", (S("", x, y, z, 2.4, 3.6),), paired=True, color="dark", blend=0.6)
          for i, (joint, x, y, z) in enumerate((
              ("chest", 38, 36, 6), ("spine_2", 22, 37, 7), ("spine_2", 8, 37, 7.5), ("spine_1", -6, 37, 7.5), ("spine_1",
              -20, 36, 7),
              ("hips", -34, 35.5, 6.5), ("hips", -47, 34.5, 6)))),
        Chain("tail", "hips", "tail", (
            S("tail_1", -62, 23, 0, 14, 12), S("tail_2", -90, 21, 0, 10, 10.5), S("tail_3", -118, 18, 0, 7, 9),
            S("tail_4", -146, 15, 0, 5, 7.5), S("tail_5", -172, 13, 0, 3.6, 5.6), S("", -200, 12, 0, 2.2, 3),
        ), "tail", tilt=3),
        Chain("crest", "tail_1", "tail", (
            S("", -66, 33, 0, 2.6, 3.5), S("", -96, 31, 0, 2.4, 5), S("", -130, 27, 0, 2.2, 5.5), S("", -162, 22, 0, 2, 4.5),
        ), color="dark", blend=0.4),
        Chain("front_leg", "chest", "leg", (
            S("front_*_upper_arm", 40, 22, 15, 8, 8), S("", 36, 22, 25, 6.6), S("front_*_forearm", 33, 21, 34, 5.2),
            S("", 38, 13, 37, 4.6),
            S("front_*_hand", 43, 5, 39, 4.2, 4), S("", 48, 3, 40, 5.2, 3.4), S("front_*_toes", 52, 2.6, 41, 5.6, 3),
            S("", 58, 2.2, 42, 4.4, 2.6),
        ), "leg", paired=True),
        Chain("hind_leg", "hips", "leg", (
            S("hind_*_thigh", -42, 22, 14, 10, 9.5), S("", -34, 23, 26, 8.4), S("hind_*_shin", -27, 22, 37, 6.2),
            S("", -35, 14, 40, 5.4),
            S("hind_*_foot", -44, 6, 42, 4.8, 4.4), S("", -38, 3.2, 43.5, 5.6, 3.6),
            S("hind_*_toes", -32, 2.8, 45, 6.2, 3.2), S("", -24, 2.2, 46.5, 4.8, 2.7),
        ), "leg", paired=True),
    ),
    palettes=(
        {"coat": "#5f6b3f", "belly": "#c9c08a", "dark": "#3c4428", "teeth": "#f3eedd", "iris": "#d9b12c", "eye": "#0e0b07"},
        {"coat": "#6d6449", "belly": "#cfc39a", "dark": "#453e2b", "teeth": "#f0e9d6", "iris": "#c9a02a", "eye": "#0e0b07"},
        {"coat": "#4b5a4c", "belly": "#b4b893", "dark": "#2c382f", "teeth": "#efe9da", "iris": "#b8c23a", "eye": "#0c0a07"},
    ),
    markings=(
        Marking("under", "belly", ("spine", "neck", "tail", "front_leg", "hind_leg", "head"), amount=(0.28, 0.38)),
        Marking("stripes", "dark", ("spine", "tail"), (0.7, 1.1), (0.25, 0.4), chance=0.7),
        Marking("spots", "dark", ("spine", "front_leg", "hind_leg"), (0.35, 0.6), (0.2, 0.5), chance=0.5),
    ),
    traits={"leg": 0.07, "girth": 0.07},
    words="crocodile alligator caiman croc gator",
)
LIZARD = replace(
    CROCODILE.without("tooth", "scute", "crest", "brow", "nostril").with_chains(
        Chain("head", "neck", "head", (
            S("head", 68, 30, 0, 12, 10), S("", 78, 32, 0, 15, 12), S("", 90, 30, 0, 12, 9.5), S("", 100, 28, 0, 8, 6.5),
            S("", 105, 27, 0, 6, 5),
        ), "head"),
        Chain("jaw", "head", "head", (S("jaw", 74, 24, 0, 11, 5), S("", 88, 22.5, 0, 9.5, 4),
            S("", 101, 23, 0, 5.5, 3)), color="belly", blend=0.6),
        Chain("eye", "head", "head", (S("", 86, 36, 10, 4.4),), paired=True, color="iris", blend=0.15),
        Chain("pupil", "head", "head", (S("", 88.5, 36.6, 13.2, 2.2),), paired=True, color="eye", solid=False),
    ).reshaped({"spine": 0.82, "tail": 0.72, "front_leg": 0.85, "hind_leg": 0.85}),
    name="lizard", metres=0.0016,
    palettes=(
        {"coat": "#6fa83c", "belly": "#dfe3a0", "dark": "#3c6a2c", "iris": "#e3a325", "eye": "#0e0b07"},
        {"coat": "#b08a52", "belly": "#e6d6ac", "dark": "#6d4f2b", "iris": "#e0c038", "eye": "#0e0b07"},
        {"coat": "#3f8f8a", "belly": "#cfe0b8", "dark": "#235c66", "iris": "#e07a2a", "eye": "#0c0a07"},
        {"coat": "#c8702c", "belly": "#efd79c", "dark": "#7a3820", "iris": "#d8d03a", "eye": "#0e0b07"},
    ),
    traits={"tail": 0.2, "head": 0.1},
    words="lizard gecko iguana chameleon salamander newt skink komodo",
)
