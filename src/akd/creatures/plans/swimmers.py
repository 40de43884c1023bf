"""Plans without legs that swim: fish, shark, dolphin, eel. A leg length is half the body's height, as in files without legs."""

from dataclasses import replace

from akd.creatures.plan import Chain, Marking, Plan
from akd.creatures.plan import Section as S

FISH = Plan(
    "fish", 0.01,
    chains=(
        Chain("spine", "", "body", (
            S("", -7, 10, 0, 3.7, 7.3), S("hips", -2, 10, 0, 4.2, 8.6), S("spine_1", 5, 10, 0, 4.6, 9),
            S("chest", 11, 10, 0, 4.5, 8.4),
            S("", 16, 9.8, 0, 4.1, 7.2),
        ), "spine"),
        Chain("head", "chest", "head", (
            S("head", 15, 9.8, 0, 4.2, 7.4), S("", 20, 9.5, 0, 3.6, 5.6), S("", 24, 9.3, 0, 2.6, 3.6),
            S("", 26.4, 9.4, 0, 1.5, 1.8),
        ), "head"),
        Chain("jaw", "head", "head", (S("jaw", 21, 6.8, 0, 2.4, 1.5), S("", 25.4, 7.6, 0, 1.4, 1)), color="belly", blend=0.4),
        Chain("eye", "head", "head", (S("", 21, 11.4, 3.2, 1.5),), paired=True, color="iris", blend=0.1),
        Chain("pupil", "head", "head", (S("", 21.3, 11.4, 4.6, 0.9),), paired=True, color="eye", solid=False),
        Chain("tail", "hips", "tail", (
            S("tail_1", -8, 10, 0, 3.6, 7), S("tail_2", -13, 10, 0, 2.8, 5.2), S("tail_3", -17.5, 10, 0, 2, 3.6),
            S("tail_4", -20.5, 10, 0, 1.4, 2.8), S("tail_fin", -23, 10, 0, 1.1, 2.7, "fin"), S("", -25, 10, 0, 1, 2.7),
        ), "tail"),
        Chain("upper_lobe", "tail_fin", "tail", (S("", -23, 11, 0, 1, 2.6), S("", -28, 14.6, 0, 0.75, 2.6),
            S("", -32.5, 18.4, 0, 0.6, 1.2)), color="fin", blend=0.4),
        Chain("lower_lobe", "tail_fin", "tail", (S("", -23, 9, 0, 1, 2.6), S("", -28, 5.4, 0, 0.75, 2.6),
            S("", -32.5, 1.8, 0, 0.6, 1.2)), color="fin", blend=0.4),
        Chain("dorsal", "spine_1", "ear", (S("", 7.5, 17.4, 0, 0.9, 2.4), S("", 2.5, 20, 0, 0.75, 3.2),
            S("", -3, 18.8, 0, 0.65, 3)),
            color="fin", blend=0.4),
        Chain("anal", "tail_1", "ear", (S("", -8, 3.6, 0, 0.8, 1.6), S("", -11.6, 2.6, 0, 0.65, 1.8),
            S("", -14.6, 3, 0, 0.6, 1.2)),
            color="fin", blend=0.4),
        Chain("pectoral", "chest", "arm", (
            S("*_fin_1", 11.5, 7.4, 3.6, 1.7, 0.8), S("*_fin_2", 8, 7.4, 6.6, 2.3, 0.6), S("", 4, 7.4, 9.6, 1.4, 0.55),
        ), "fin", paired=True, color="fin", blend=0.4),
        Chain("pelvic", "hips", "arm", (S("*_belly_fin", 0, 3.4, 2.2, 1.4, 0.7), S("", -4.6, 3.4, 4.6, 1.2, 0.55)),
            "fin", paired=True, color="fin", blend=0.4),
    ),
    palettes=(
        {"coat": "#d9762a", "belly": "#f3d9b0", "fin": "#b9551c", "dark": "#6a3114", "iris": "#e9dcae", "eye": "#0e0b0a"},
        {"coat": "#6f8796", "belly": "#dfe6e8", "fin": "#53697a", "dark": "#34444f", "iris": "#e2d79a", "eye": "#0e0b0a"},
        {"coat": "#3a72b8", "belly": "#f0d24a", "fin": "#f0c43a", "dark": "#1f3f74", "iris": "#f2ead0", "eye": "#0c0a0a"},
        {"coat": "#b8433a", "belly": "#efd0c0", "fin": "#8d2c2a", "dark": "#5a1c1c", "iris": "#f0e0a0", "eye": "#0c0a0a"},
        {"coat": "#6d7d45", "belly": "#d6d2a4", "fin": "#55622f", "dark": "#3a4422", "iris": "#d8c25a", "eye": "#0c0a0a"},
    ),
    markings=(
        Marking("under", "belly", ("spine", "tail", "head"), amount=(0.28, 0.42)),
        Marking("stripes", "dark", ("spine", "tail"), (0.5, 0.8), (0.2, 0.4), chance=0.5),
        Marking("spots", "dark", ("spine", "tail"), (0.25, 0.4), (0.2, 0.5), chance=0.3),
    ),
    traits={"ear": 0.12, "arm": 0.12, "girth": 0.12},
    words="fish goldfish trout salmon tuna carp bass piranha clownfish cod herring perch minnow koi swordfish guppy",
)
SHARK = replace(
    FISH.without("pelvic", "anal", "pupil", "eye", "dorsal").with_chains(
        Chain("spine", "", "body", (
            S("", -11, 10, 0, 4.1, 4.5), S("hips", -4, 10, 0, 5, 5.4), S("spine_1", 5, 10, 0, 5.8, 6.2),
            S("chest", 13, 10, 0, 5.8, 6.2), S("", 20, 10, 0, 5.4, 5.6),
        ), "spine"),
        Chain("head", "chest", "head", (
            S("head", 19, 10, 0, 5.4, 5.6), S("", 26, 10.4, 0, 4.8, 4.4), S("", 32, 11, 0, 3.4, 2.8),
            S("", 36.4, 11.4, 0, 1.6, 1.3),
        ), "head"),
        Chain("jaw", "head", "head", (S("jaw", 23, 6.4, 0, 3.4, 1.4), S("", 30, 7.2, 0, 2.4, 0.9)), color="belly", blend=0.4),
        Chain("eye", "head", "head", (S("", 28, 12.2, 3.9, 0.8),), paired=True, color="eye", blend=0.1),
        Chain("tail", "hips", "tail", (
            S("tail_1", -12, 10, 0, 4, 4.4), S("tail_2", -19, 10, 0, 3, 3.3), S("tail_3", -25, 10, 0, 2.2, 2.4),
            S("tail_4", -29.5, 10, 0, 1.6, 1.9), S("tail_fin", -33, 10.3, 0, 1.2, 1.9), S("", -35, 10.5, 0, 1, 1.9),
        ), "tail"),
        Chain("upper_lobe", "tail_fin", "tail", (S("", -33, 11, 0, 1, 2), S("", -38, 15.4, 0, 0.8, 2),
            S("", -43.5, 20.6, 0, 0.6, 1)), blend=0.4),
        Chain("lower_lobe", "tail_fin", "tail", (S("", -33, 9.4, 0, 1, 1.8), S("", -36.5, 6.6, 0, 0.75, 1.6),
            S("", -39, 4, 0, 0.6, 0.8)), blend=0.4),
        Chain("dorsal", "spine_1", "ear", (S("", 5, 14.6, 0, 1, 4), S("", 2, 18.6, 0, 0.8, 2.8), S("", -1.4, 22, 0, 0.6, 1)),
            blend=0.4),
        Chain("pectoral", "chest", "arm", (
            S("*_fin_1", 13, 7, 4.6, 2.8, 1), S("*_fin_2", 8.6, 7, 10, 2.4, 0.8), S("", 3, 7, 15.6, 1.2, 0.6),
        ), "fin", paired=True, blend=0.4),
        Chain("pelvic", "hips", "arm", (S("*_belly_fin", -8, 6.4, 2.8, 1.5, 0.8), S("", -12, 6.4, 5.6, 1, 0.6)),
            "fin", paired=True, blend=0.4),
    ),
    name="shark", metres=0.04,
    palettes=(
        {"coat": "#6b7783", "belly": "#e8eaea", "dark": "#49525c", "eye": "#0b0a0a"},
        {"coat": "#57636b", "belly": "#d9dcd8", "dark": "#3a434a", "eye": "#0b0a0a"},
        {"coat": "#7d7a68", "belly": "#e0dccb", "dark": "#57543f", "eye": "#0b0a0a"},
    ),
    markings=(
        Marking("under", "belly", ("spine", "tail", "head", "jaw", "pectoral"), amount=(0.36, 0.46)),
        Marking("stripes", "dark", ("spine", "tail"), (0.4, 0.7), (0.2, 0.35), chance=0.3),
    ),
    words="shark hammerhead barracuda sturgeon",
)
DOLPHIN = replace(
    SHARK.without("upper_lobe", "lower_lobe", "pelvic").with_chains(
        Chain("head", "chest", "head", (
            S("head", 19, 10, 0, 5.2, 5.4), S("", 24.6, 10.2, 0, 4.6, 4.8), S("", 28, 9.4, 0, 2.6, 2.4),
            S("", 31, 8.8, 0, 1.6, 1.3),
            S("", 34, 8.6, 0, 1.1, 0.9),
        ), "head"),
        Chain("jaw", "head", "head", (S("jaw", 25, 7, 0, 2.2, 1), S("", 32.6, 6.8, 0, 1.1, 0.8)), color="belly", blend=0.4),
        Chain("eye", "head", "head", (S("", 25.4, 9.6, 4.2, 0.7),), paired=True, color="eye", blend=0.1),
        Chain("fluke", "tail_fin", "tail", (S("*_fluke", -33, 10.2, 0.8, 1.8, 0.9), S("", -36, 10.2, 4.6, 2, 0.75),
            S("", -39.6, 10.2, 8.4, 0.9, 0.6)), paired=True, blend=0.4),
    ),
    name="dolphin", metres=0.03,
    palettes=(
        {"coat": "#6f8597", "belly": "#dfe6ea", "dark": "#4a5c6b", "eye": "#0b0a0a"},
        {"coat": "#3c4650", "belly": "#cfd5d8", "dark": "#272e35", "eye": "#0b0a0a"},
        {"coat": "#22262b", "belly": "#f2f2ee", "dark": "#15181b", "eye": "#0b0a0a"},
    ),
    words="dolphin whale orca porpoise",
)
EEL = replace(
    FISH.without("upper_lobe", "lower_lobe", "anal", "pelvic", "dorsal").with_chains(
        Chain("spine", "", "body", (
            S("", -14, 6, 0, 3, 3.9), S("hips", -6, 6, 0, 3.2, 4), S("spine_1", 4, 6, 0, 3.3, 4.1),
            S("spine_2", 13, 6, 0, 3.3, 4.1), S("chest", 22, 6, 0, 3.3, 4),
            S("", 29, 6, 0, 3.2, 3.7),
        ), "spine"),
        Chain("head", "chest", "head", (S("head", 28, 6, 0, 3.2, 3.8), S("", 34, 6.2, 0, 3, 3.2), S("", 39, 6, 0, 2.2, 2),
            S("", 42, 5.9, 0, 1.3, 1.1)), "head"),
        Chain("jaw", "head", "head", (S("jaw", 34, 3.6, 0, 2.2, 1.1), S("", 40.4, 3.9, 0, 1.5, 0.9)), color="belly", blend=0.4),
        Chain("eye", "head", "head", (S("", 36.6, 7.8, 2.3, 0.8),), paired=True, color="iris", blend=0.1),
        Chain("pupil", "head", "head", (S("", 37, 7.9, 3.1, 0.45),), paired=True, color="eye", solid=False),
        Chain("tail", "hips", "tail", (
            S("tail_1", -15, 6, 0, 3, 3.9), S("tail_2", -24, 6, 0, 2.8, 3.7), S("tail_3", -33, 6, 0, 2.5, 3.5),
            S("tail_4", -42, 6, 0, 2.1, 3.2), S("tail_5", -51, 6, 0, 1.6, 2.9), S("tail_6", -59, 6, 0, 1.1, 2.5),
            S("", -68, 6, 0, 0.7, 1.2, "fin"),
        ), "tail"),
        Chain("dorsal", "spine_1", "ear", (S("", 11, 9.2, 0, 0.7, 1), S("", 4, 10, 0, 0.65, 1.5), S("", -3, 9.2, 0, 0.6, 1)),
            color="fin", blend=0.4),
        Chain("pectoral", "chest", "arm", (S("*_fin_1", 26, 5, 2.9, 1.2, 0.7), S("*_fin_2", 23.6, 5, 5, 1.5, 0.6),
            S("", 21, 5, 6.8, 0.9, 0.55)), "fin", paired=True, color="fin", blend=0.4),
    ),
    name="eel",
    palettes=(
        {"coat": "#5a5a3c", "belly": "#c9bd84", "fin": "#44442c", "dark": "#2e2e1e", "iris": "#d8c25a", "eye": "#0c0a0a"},
        {"coat": "#3d4a42", "belly": "#a9b09a", "fin": "#2c3630", "dark": "#1e2622", "iris": "#cfd08a", "eye": "#0c0a0a"},
        {"coat": "#7a6a34", "belly": "#d8c98a", "fin": "#5c4f26", "dark": "#3e3418", "iris": "#e2d79a", "eye": "#0c0a0a"},
    ),
    words="eel moray lamprey",
)
