"""Columns: elephant and sauropod."""

from akd.creatures.plan import Chain, Marking, Plan
from akd.creatures.plan import Section as S

ELEPHANT = Plan(
    "elephant", 0.01,
    chains=(
        Chain("spine", "", "body", (
            S("", -112, 196, 0, 28, 32), S("hips", -90, 200, 0, 52, 54), S("spine_1", -45, 200, 0, 63, 68),
            S("spine_2", 5, 198, 0, 68, 74), S("chest", 55, 202, 0, 58, 68), S("", 88, 208, 0, 38, 48),
        ), "spine"),
        Chain("neck", "chest", "neck", (S("neck", 88, 220, 0, 36, 44), S("", 115, 236, 0, 34, 40)), "neck", tilt=6),
        Chain("head", "neck", "head", (
            S("head", 112, 240, 0, 36, 42), S("", 132, 250, 0, 40, 46), S("", 150, 238, 0, 34, 38), S("", 164, 214, 0, 24, 24),
        ), "head"),
        Chain("trunk", "head", "tail", (
            S("trunk_1", 164, 218, 0, 22, 21), S("trunk_2", 180, 180, 0, 17, 16.5), S("trunk_3", 187, 138, 0, 13.5, 13),
            S("trunk_4", 190, 96, 0, 11, 10.5), S("trunk_5", 196, 58, 0, 9.5, 9), S("", 212, 34, 0, 8.5, 8),
            S("", 224, 33, 0, 7.5, 7),
        )),
        Chain("jaw", "head", "head", (S("jaw", 140, 206, 0, 20, 15), S("", 160, 184, 0, 13, 9), S("", 168, 174, 0, 9, 7))),
        Chain("tusk", "head", "head", (
            S("", 156, 198, 16, 7.5), S("", 172, 166, 24, 6.8), S("", 192, 146, 28, 5.6), S("", 214, 142, 27, 3.4),
        ), paired=True, color="ivory", blend=0.2),
        Chain("eye", "head", "head", (S("", 157, 248, 30, 6.2),), paired=True, color="eye", blend=0.15),
        Chain("ear", "head", "ear", (
            S("*_ear", 122, 252, 34, 8, 24), S("", 112, 246, 60, 6, 44), S("", 104, 234, 86, 5.5, 48),
            S("", 100, 224, 110, 5, 28),
        ), paired=True, blend=0.5),
        Chain("tail", "hips", "tail", (
            S("tail_1", -124, 214, 0, 8), S("tail_2", -138, 180, 0, 6), S("tail_3", -143, 140, 0, 5),
            S("", -144, 112, 0, 5.5, None, "dark"),
            S("", -144, 96, 0, 4),
        ), "tail", tilt=8),
        Chain("front_leg", "chest", "leg", (
            S("front_*_upper_arm", 66, 176, 34, 30, 38), S("", 60, 146, 37, 26, 30), S("front_*_forearm", 56, 114, 38, 22, 24),
            S("", 58, 86, 38, 19, 20), S("front_*_hand", 60, 48, 38, 19, 20), S("", 61, 24, 38, 21, 22),
            S("front_*_toes", 62, 12, 38, 23, 24),
            S("", 63, 7, 38, 23, 24),
        ), "leg", paired=True),
        Chain("hind_leg", "hips", "leg", (
            S("hind_*_thigh", -84, 172, 34, 32, 44), S("", -78, 138, 37, 27, 34), S("hind_*_shin", -72, 104, 38, 21, 24),
            S("", -80, 78, 38, 18, 20), S("hind_*_foot", -86, 44, 38, 17, 19), S("", -83, 24, 38, 19, 21),
            S("hind_*_toes", -80, 12, 38, 21, 23),
            S("", -79, 7, 38, 21, 23),
        ), "leg", paired=True),
        *(Chain(f"{leg}_nail_{i}", f"{leg}_*_toes", "leg", (S("", x + dx, 7, 38 + dz, 6, 6.5),), paired=True, color="nail",
            flesh=False)
          for leg, x in (("front", 62), ("hind", -80)) for i, (dx, dz) in enumerate(((25, 0), (20, 14), (20, -14)))),
    ),
    palettes=(
        {"coat": "#8d8a89", "belly": "#a3a09d", "dark": "#3b3736", "ivory": "#efe6d0", "nail": "#cfc6b8", "eye": "#17110f"},
        {"coat": "#9a8f84", "belly": "#b3a89c", "dark": "#40372f", "ivory": "#f2ead8", "nail": "#d3c7b4", "eye": "#1a120e"},
        {"coat": "#74757b", "belly": "#8c8d92", "dark": "#2f2f33", "ivory": "#e9dfc8", "nail": "#bfb8ae", "eye": "#120f10"},
    ),
    markings=(
        Marking("under", "belly", ("spine", "head", "trunk", "front_leg", "hind_leg"), amount=(0.2, 0.35)),
        Marking("blotches", "belly", ("ear", "head", "trunk"), (0.25, 0.4), (0.2, 0.4), chance=0.5),
    ),
    traits={"girth": 0.08, "limb": 0.07},
)

SAUROPOD = Plan(
    "sauropod", 0.02,
    chains=(
        Chain("spine", "", "body", (
            S("", -88, 172, 0, 30, 34), S("hips", -66, 178, 0, 44, 46), S("spine_1", -28, 180, 0, 52, 54),
            S("spine_2", 12, 178, 0, 54, 56), S("chest", 50, 178, 0, 44, 48), S("", 78, 184, 0, 28, 32),
        ), "spine"),
        Chain("neck", "chest", "neck", (
            S("neck_1", 72, 194, 0, 27, 32), S("neck_2", 106, 222, 0, 19, 22), S("neck_3", 136, 256, 0, 15.5, 17),
            S("neck_4", 162, 294, 0, 13.5, 14.5), S("neck_5", 184, 332, 0, 12, 13), S("", 202, 360, 0, 11.5, 12),
        ), "neck", tilt=9),
        Chain("head", "neck_5", "head", (
            S("head", 206, 366, 0, 12, 12), S("", 219, 370, 0, 14, 13.5), S("", 234, 364, 0, 12, 10.5),
            S("", 248, 358, 0, 10.5, 8),
            S("", 255, 356, 0, 9, 6.5),
        ), "head"),
        Chain("jaw", "head", "head", (S("jaw", 222, 357, 0, 9, 6), S("", 238, 350, 0, 8, 4.5),
            S("", 250, 348, 0, 7, 4)), color="belly"),
        Chain("nostril", "head", "head", (S("", 259, 360, 4.5, 2, 2),), color="eye", paired=True, flesh=False),
        Chain("eye", "head", "head", (S("", 226.5, 374, 11, 4.6),), paired=True, color="eye", blend=0.12),
        Chain("tail", "hips", "tail", (
            S("tail_1", -92, 176, 0, 31, 34), S("tail_2", -132, 162, 0, 22, 24), S("tail_3", -172, 142, 0, 15.5, 16.5),
            S("tail_4", -212, 122, 0, 11, 11.5), S("tail_5", -252, 108, 0, 8, 8), S("tail_6", -292, 102, 0, 5.8, 5.8),
            S("", -332, 104, 0, 3.6, 3.6),
        ), "tail", tilt=6),
        Chain("front_leg", "chest", "leg", (
            S("front_*_upper_arm", 54, 158, 30, 25, 31), S("", 49, 130, 33, 20, 24),
            S("front_*_forearm", 45, 100, 34, 17, 18.5),
            S("", 47, 74, 34, 15, 16), S("front_*_hand", 50, 42, 34, 14.5, 15), S("", 51, 20, 34, 16.5, 17.5),
            S("front_*_toes", 53, 10, 34, 18, 20),
            S("", 54, 6, 34, 18, 20),
        ), "leg", paired=True),
        Chain("hind_leg", "hips", "leg", (
            S("hind_*_thigh", -62, 160, 31, 28, 38), S("", -56, 130, 34, 23, 29), S("hind_*_shin", -50, 98, 35, 18, 20),
            S("", -57, 72, 35, 15.5, 17), S("hind_*_foot", -63, 40, 35, 15, 16), S("", -61, 20, 35, 17, 18.5),
            S("hind_*_toes", -57, 10, 35, 18.5, 21),
            S("", -55, 6, 35, 18.5, 21),
        ), "leg", paired=True),
        *(Chain(f"{leg}_nail_{i}", f"{leg}_*_toes", "leg", (S("", x + dx, 6, 35 + dz, 5.5, 6),), paired=True, color="nail",
            flesh=False)
          for leg, x in (("front", 54), ("hind", -56)) for i, (dx, dz) in enumerate(((22, 0), (17, 12), (17, -12)))),
    ),
    palettes=(
        {"coat": "#6f8a63", "belly": "#c7cfa5", "dark": "#465c42", "nail": "#e5dcc4", "eye": "#1a140c"},
        {"coat": "#7d7f8f", "belly": "#bfc0c4", "dark": "#55576a", "nail": "#e0d9cc", "eye": "#14110f"},
        {"coat": "#9c7d58", "belly": "#dcc79d", "dark": "#6b5136", "nail": "#eadfc8", "eye": "#1a120b"},
        {"coat": "#4f8a8b", "belly": "#b9d3c4", "dark": "#2f5f66", "nail": "#e5dfcc", "eye": "#10120f"},
    ),
    markings=(
        Marking("under", "belly", ("spine", "neck", "tail", "head", "front_leg", "hind_leg"), amount=(0.3, 0.42)),
        Marking("spots", "dark", ("spine", "neck", "tail"), (0.16, 0.3), (0.3, 0.6), chance=0.5),
        Marking("stripes", "dark", ("spine", "neck", "tail"), (0.3, 0.5), (0.25, 0.4), chance=0.35),
    ),
)
