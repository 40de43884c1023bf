"""Plans that lie on the ground without limbs: snake."""

from akd.creatures.plan import Chain, Marking, Plan
from akd.creatures.plan import Section as S

SNAKE = Plan(
    "snake", 0.01,
    chains=(
        Chain("spine", "", "body", (
            S("", -8, 3.3, 0, 3.5, 3.3), S("hips", 0, 3.4, 0, 3.8, 3.6),
            *(S(f"spine_{i}", 9 * i, 3.4, 0, 3.8 - 0.1 * i, 3.6 - 0.1 * i) for i in range(1, 7)),
            S("chest", 63, 3.6, 0, 3, 2.9), S("", 70, 4.4, 0, 2.7, 2.6),
        ), "spine"),
        Chain("neck", "chest", "neck", (S("neck_1", 69, 4.4, 0, 2.7, 2.6), S("neck_2", 76, 7.6, 0, 2.4, 2.3),
            S("", 82, 11, 0, 2.3, 2.2)),
            "neck"),
        Chain("head", "neck_2", "head", (S("head", 81.5, 11, 0, 2.5, 2.3), S("", 86, 12, 0, 3.6, 2.4),
            S("", 91, 11.4, 0, 2.7, 1.7),
            S("", 94, 11, 0, 1.6, 1.1)), "head"),
        Chain("jaw", "head", "head", (S("jaw", 84.6, 9.8, 0, 2.6, 0.9), S("", 91.6, 9.3, 0, 1.8, 0.7)), color="belly", blend=0.4),
        Chain("eye", "head", "head", (S("", 88.6, 13, 2.4, 0.75),), paired=True, color="iris", blend=0.1),
        Chain("pupil", "head", "head", (S("", 89, 13.1, 3.1, 0.4),), paired=True, color="eye", solid=False),
        Chain("tail", "hips", "tail", (
            *(S(f"tail_{i}", -9 * i, 3.3 - 0.18 * i, 0, 3.7 - 0.27 * i, 3.5 - 0.27 * i) for i in range(1, 10)),
            S("", -92, 1, 0, 0.7, 0.7),
        ), "tail"),
    ),
    palettes=(
        {"coat": "#5f7a3a", "belly": "#cfc88a", "dark": "#2f3f20", "iris": "#d9b12c", "eye": "#0c0a07"},
        {"coat": "#8a6b43", "belly": "#dcc9a0", "dark": "#4d3721", "iris": "#c9902a", "eye": "#0c0a07"},
        {"coat": "#3b3b3f", "belly": "#8f8f8a", "dark": "#1c1c1f", "iris": "#b9412a", "eye": "#0a0908"},
        {"coat": "#c1522f", "belly": "#ecd9a8", "dark": "#231b18", "iris": "#e2c23a", "eye": "#0c0a07"},
    ),
    markings=(
        Marking("under", "belly", ("spine", "neck", "tail", "head"), amount=(0.26, 0.34)),
        Marking("stripes", "dark", ("spine", "neck", "tail"), (1.0, 1.8), (0.3, 0.45), chance=0.6),
        Marking("spots", "dark", ("spine", "neck", "tail"), (0.7, 1.1), (0.3, 0.6), chance=0.5),
    ),
    traits={"body": 0.12, "tail": 0.12},
    words="snake serpent viper cobra python boa rattlesnake anaconda adder worm",
)
