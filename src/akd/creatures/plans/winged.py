"""Plans with wings that carry them: bird, bat, dragon. At rest wings are spread level; on the ground they are folded."""

from dataclasses import replace

from akd.creatures.plan import Chain, Marking, Plan
from akd.creatures.plan import Section as S

BIRD = Plan(
    "bird", 0.01,
    chains=(
        Chain("spine", "", "body", (
            S("", -10, 15, 0, 3, 3), S("hips", -5, 15.2, 0, 4.6, 4.8), S("spine_1", 0, 15.6, 0, 5.2, 5.6),
            S("chest", 5, 16.4, 0, 4.9, 5.4), S("", 9, 18, 0, 3.6, 4),
        ), "spine"),
        Chain("neck", "chest", "neck", (S("neck_1", 8.5, 19, 0, 3.3, 3.6), S("", 10.5, 21.5, 0, 3, 3.1)), "neck", tilt=8),
        Chain("head", "neck_1", "head", (S("head", 11, 22.5, 0, 3.2, 3.2), S("", 13, 23.6, 0, 3.5, 3.3),
            S("", 15, 23.3, 0, 2.7, 2.5)), "head"),
        Chain("upper_beak", "head", "head", (S("", 16.4, 23.2, 0, 1.7, 1.4), S("", 19, 22.6, 0, 1.1, 1),
            S("", 20.6, 21.9, 0, 0.6, 0.7)), color="beak", blend=0.2),
        Chain("jaw", "head", "head", (S("jaw", 15.8, 21.4, 0, 1.4, 0.8), S("", 18.6, 20.9, 0, 0.7, 0.6)),
            color="beak", blend=0.2),
        Chain("eye", "head", "head", (S("", 14.4, 24.3, 2.8, 0.85),), paired=True, color="eye", blend=0.15),
        Chain("wing", "chest", "arm", (
            S("*_wing_1", 3.5, 18, 3.2, 4.2, 1.5), S("*_wing_2", 4.5, 18, 11, 5.6, 1.1),
            S("*_wing_3", 3, 18, 20, 5.4, 0.9, "wing"),
            S("", -1.5, 18, 29, 4, 0.75), S("", -5, 18, 34, 1.8, 0.65),
        ), "wing", paired=True, blend=0.5),
        Chain("tail", "hips", "tail", (
            S("tail_1", -11, 15.4, 0, 3.2, 1.9), S("tail_2", -16, 15.4, 0, 3.8, 1.1, "wing"), S("", -22, 15.2, 0, 4.6, 0.75),
        ), "tail", tilt=6),
        Chain("leg", "hips", "leg", (
            S("*_thigh", -2, 12, 2.7, 2.3, 2.8), S("", -0.6, 10, 3, 1.7, 2), S("*_shin", 0.4, 8.6, 3, 1.1, 1.2),
            S("", -1, 6.8, 3, 0.75, 0.8, "beak"), S("*_foot", -2.2, 5, 3, 0.65, 0.65), S("*_toes", -0.8, 0.9, 3, 0.8, 0.75),
            S("", 1.2, 0.65, 3, 0.75, 0.65), S("", 3.4, 0.5, 3, 0.55, 0.55),
        ), "leg", paired=True),
        Chain("outer_toe", "*_toes", "leg", (S("", -0.4, 0.7, 3.3, 0.7, 0.65),
            S("", 2.2, 0.5, 4.9, 0.55, 0.55)), paired=True, color="beak", blend=0.4),
        Chain("inner_toe", "*_toes", "leg", (S("", -0.4, 0.7, 2.7, 0.7, 0.65),
            S("", 2.2, 0.5, 1.3, 0.55, 0.55)), paired=True, color="beak", blend=0.4),
    ),
    palettes=(
        {"coat": "#6b5138", "belly": "#d9c7a6", "wing": "#3d2e21", "beak": "#d8a23c", "eye": "#140e0a"},
        {"coat": "#8d97a3", "belly": "#c9ced4", "wing": "#4b525c", "beak": "#6d6258", "eye": "#120c0a"},
        {"coat": "#efece6", "belly": "#faf8f4", "wing": "#8b929b", "beak": "#e0a03a", "eye": "#120c0a"},
        {"coat": "#3f6fb0", "belly": "#d79a6a", "wing": "#274a80", "beak": "#4a4038", "eye": "#0f0b0a"},
        {"coat": "#3f8f4a", "belly": "#d8c548", "wing": "#2c6a8c", "beak": "#d9b49a", "eye": "#0f0b0a"},
    ),
    markings=(
        Marking("under", "belly", ("spine", "neck", "wing"), amount=(0.3, 0.45)),
        Marking("stripes", "wing", ("wing", "tail"), (0.25, 0.4), (0.2, 0.4), chance=0.4),
    ),
    traits={"arm": 0.12, "neck": 0.08},
    words=(
        "bird eagle hawk falcon sparrow robin pigeon dove crow raven parrot owl finch seagull gull swallow songbird vulture "
        "magpie thrush canary bluebird buzzard kite"
    ),
)
BAT = replace(
    BIRD.without("upper_beak", "outer_toe", "inner_toe", "tail").with_chains(
        Chain("head", "neck_1", "head", (S("head", 11, 22, 0, 3.2, 3.2), S("", 13, 22.8, 0, 3.7, 3.5),
            S("", 15.6, 22, 0, 2.6, 2.3), S("", 17.4, 21.6, 0, 1.7, 1.5, "wing")), "head"),
        Chain("jaw", "head", "head", (S("jaw", 14.4, 20.4, 0, 1.9, 1), S("", 16.8, 20, 0, 1.2, 0.8)), blend=0.3),
        Chain("ear", "head", "ear", (S("*_ear", 11.6, 25, 2, 1.5, 1.1), S("", 11.4, 28.4, 2.9, 1.7, 0.9),
            S("", 11, 31, 3.3, 0.8, 0.7)), paired=True, color="wing", blend=0.4),
        Chain("wing", "chest", "arm", (
            S("*_wing_1", 1.5, 18, 3.2, 6, 1.2), S("*_wing_2", 1.5, 18, 12, 8.6, 0.9), S("*_wing_3", 0.5, 18, 22, 8, 0.8),
            S("*_wing_4", -2, 18, 30, 5.6, 0.7), S("", -6, 18, 37, 2, 0.65),
        ), "wing", paired=True, color="wing", blend=0.4),
        Chain("tail", "hips", "tail", (S("tail_1", -10, 14.6, 0, 3, 1.4), S("", -15, 14, 0, 1.6, 0.7)), "tail", color="wing"),
    ),
    name="bat",
    palettes=(
        {"coat": "#4a3a30", "belly": "#7a6250", "wing": "#2a211d", "beak": "#2a211d", "eye": "#0d0a08"},
        {"coat": "#6e5138", "belly": "#a98a64", "wing": "#3a2c25", "beak": "#3a2c25", "eye": "#0d0a08"},
        {"coat": "#3a3a3f", "belly": "#5a5a60", "wing": "#1f1f23", "beak": "#1f1f23", "eye": "#0b0908"},
    ),
    markings=(Marking("under", "belly", ("spine", "neck"), amount=(0.3, 0.45)),),
    words="bat flying-fox",
)
DRAGON = Plan(
    "dragon", 0.01,
    chains=(
        Chain("spine", "", "body", (
            S("", -92, 112, 0, 20, 22), S("hips", -72, 114, 0, 27, 30), S("spine_1", -34, 114, 0, 30, 34),
            S("spine_2", 6, 116, 0, 32, 37), S("chest", 42, 120, 0, 31, 36), S("", 68, 130, 0, 21, 26),
        ), "spine"),
        Chain("neck", "chest", "neck", (
            S("neck_1", 66, 134, 0, 19, 23), S("neck_2", 90, 158, 0, 14.5, 16.5), S("neck_3", 106, 186, 0, 12.5, 13.5),
            S("", 120, 210, 0, 12, 12.5),
        ), "neck", tilt=8),
        Chain("head", "neck_3", "head", (
            S("head", 120, 214, 0, 14, 14), S("", 136, 220, 0, 16.5, 14), S("", 154, 215, 0, 12.5, 9.5),
            S("", 172, 210, 0, 9.5, 7),
            S("", 182, 209, 0, 7, 5.5),
        ), "head"),
        Chain("jaw", "head", "head", (S("jaw", 130, 204, 0, 12, 6), S("", 152, 197, 0, 9, 4.6), S("", 174, 194, 0, 6, 4)),
            color="belly", blend=0.4),
        Chain("horn", "head", "ear", (S("", 128, 230, 8, 4.4), S("", 114, 242, 11, 3.2), S("", 98, 250, 12.5, 1.8)),
            paired=True, color="claw", blend=0.4),
        Chain("eye", "head", "head", (S("", 144, 224.5, 12.6, 3.6),), paired=True, color="iris", blend=0.1),
        Chain("pupil", "head", "head", (S("", 146.5, 225, 15.6, 1.9),), paired=True, color="eye", solid=False),
        *(Chain(f"spike_{i}", joint, "body", (S("", x, y, 0, 3, 6, None), S("", x - 6, y + 13, 0, 1.8, 2.4, None)),
            color="claw", blend=0.4) for i, (joint, x, y) in enumerate((
            ("neck_2", 84, 172), ("chest", 46, 152), ("spine_2", 10, 150), ("spine_1", -30, 145), ("hips", -66, 142)))),
        Chain("wing", "chest", "arm", (
            S("*_wing_1", 34, 146, 22, 15, 7.5), S("*_wing_2", 30, 146, 70, 30, 5.5, "wing"),
            S("*_wing_3", 20, 146, 125, 40, 4.6),
            S("*_wing_4", 0, 146, 180, 32, 4.2), S("", -34, 146, 226, 11, 4),
        ), "wing", paired=True, blend=0.5),
        Chain("tail", "hips", "tail", (
            S("tail_1", -104, 110, 0, 17, 19), S("tail_2", -140, 104, 0, 13, 14.5), S("tail_3", -176, 99, 0, 10, 11),
            S("tail_4", -212, 96, 0, 7.6, 8.4), S("tail_5", -246, 97, 0, 5.6, 6), S("", -276, 101, 0, 4, 4, "claw"),
            S("", -292, 104, 0, 8, 3.6), S("", -310, 107, 0, 2, 2),
        ), "tail", tilt=7),
        Chain("front_leg", "chest", "leg", (
            S("front_*_upper_arm", 44, 98, 25, 14, 17), S("", 38, 80, 29, 11.5, 13), S("front_*_forearm", 32, 60, 30, 9, 10),
            S("", 40, 38, 30, 7.6, 8), S("front_*_hand", 46, 16, 30, 7.4, 7.4), S("front_*_toes", 54, 6.5, 30, 9, 6),
            S("", 64, 5, 30, 8, 5), S("", 72, 3.6, 30, 5, 3.8, "claw"),
        ), "leg", paired=True),
        Chain("hind_leg", "hips", "leg", (
            S("hind_*_thigh", -70, 102, 22, 18, 25), S("", -58, 82, 28, 16, 19), S("hind_*_shin", -48, 60, 30, 10.5, 12),
            S("", -64, 42, 30, 8.6, 9.6), S("hind_*_foot", -80, 28, 30, 7, 7.6), S("", -76, 16, 30, 7.4, 7.4),
            S("hind_*_toes", -70, 7, 30, 9.4, 6.4), S("", -58, 5, 30, 8.4, 5), S("", -49, 3.6, 30, 5, 3.8, "claw"),
        ), "leg", paired=True),
    ),
    palettes=(
        {"coat": "#8c2f26", "belly": "#d8a45c", "wing": "#5f1f1c", "claw": "#2c2320", "iris": "#f0c030", "eye": "#100a08"},
        {"coat": "#3f6b3c", "belly": "#c9c078", "wing": "#2a4a2c", "claw": "#d8cfb8", "iris": "#e8a52a", "eye": "#100a08"},
        {"coat": "#3a3f4c", "belly": "#7c8290", "wing": "#23262f", "claw": "#14141a", "iris": "#d9482a", "eye": "#0c0a0a"},
        {"coat": "#38618c", "belly": "#b9cddc", "wing": "#264463", "claw": "#e3ddd0", "iris": "#f2d24a", "eye": "#0c0a0a"},
    ),
    markings=(
        Marking("under", "belly", ("spine", "neck", "tail"), amount=(0.28, 0.4)),
        Marking("stripes", "wing", ("spine", "neck", "tail"), (0.25, 0.4), (0.2, 0.35), chance=0.5),
    ),
    traits={"arm": 0.1, "leg": 0.07},
    words="dragon wyvern drake",
)
