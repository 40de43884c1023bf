"""Upright plans with two arms: human, child, astronaut, robot."""

from dataclasses import replace

from akd.creatures.plan import Chain, Plan
from akd.creatures.plan import Section as S

HUMAN = Plan(
    "human", 0.01,
    chains=(
        Chain("spine", "", "body", (
            S("", 0, 87, 0, 12.5, 9), S("hips", 0, 94, 0, 16, 11), S("", 0.5, 100, 0, 15, 10.2, "shirt"),
            S("spine_1", 0.5, 107, 0, 13.6, 9.6),
            S("spine_2", 0.5, 117, 0, 14.6, 10.2), S("chest", 0, 128, 0, 17, 11.4), S("", -0.5, 138, 0, 16, 9.4),
            S("", -0.5, 143.5, 0, 9, 6.6),
        ), "spine", color="trousers"),
        Chain("neck", "chest", "neck", (S("neck", -1, 145, 0, 5.2, 5.4),
            S("", 0.5, 153, 0, 4.9, 5.2)), "neck", color="skin", blend=0.4),
        Chain("head", "neck", "head", (
            S("head", 1.6, 154, 0, 5.8, 7), S("", 2.2, 157.4, 0, 7.3, 8.6), S("", 1.6, 163, 0, 8.5, 9.6),
            S("", 0.8, 168.4, 0, 8.3, 9.6),
            S("", 0.2, 171.5, 0, 6.4, 7.8),
        ), "head", color="skin"),
        Chain("nose", "head", "head", (S("", 10.4, 163.5, 0, 0.9, 1.4),
            S("", 11.9, 160.8, 0, 1.4, 1.3)), color="skin", blend=0.6),
        Chain("ear", "head", "head", (S("", 0.4, 162.5, 8.2, 1.3, 2.6),), paired=True, color="skin", blend=0.4),
        Chain("hair", "head", "head", (
            S("", -2, 161, 0, 8.2, 8.4), S("", -1.4, 167.5, 0, 9.3, 10.6), S("", -0.8, 172, 0, 8, 9.6),
            S("", -0.6, 174, 0, 5.4, 6.6),
        ), color="hair", blend=0.12, chance=0.55),
        Chain("hair", "head", "head", (
            S("", -6.5, 138, 0, 6, 3.4), S("", -7.5, 146, 0, 8.6, 4.4), S("", -6, 156, 0, 9.2, 6),
            S("", -2.4, 164, 0, 9.5, 9.2), S("", -1.2, 169, 0, 9.3, 10.6),
            S("", -0.8, 173, 0, 6.8, 8.4),
        ), color="hair", blend=0.12, chance=0.4),
        Chain("eye", "head", "head", (S("", 9.2, 164.6, 3.5, 1.65),), paired=True, color="white", blend=0.1),
        Chain("pupil", "head", "head", (S("", 10.8, 164.6, 3.7, 0.95),), paired=True, color="eye", solid=False),
        Chain("brow", "head", "head", (S("", 10.6, 168.3, 2, 0.5),
        S("", 8.8, 168, 5, 0.5)), paired=True, color="hair", solid=False),
        Chain("mouth", "head", "head", (S("", 11.2, 157, 0, 0.8), S("", 10.2, 157.3, 2.3, 0.55)), color="lips", solid=False),
        Chain("arm", "chest", "arm", (
            S("*_shoulder", -0.5, 139, 6, 6, 6), S("*_upper_arm", -0.5, 138, 17, 5.6), S("", -1, 128, 25, 4.7),
            S("*_forearm", -1, 115.5, 35, 3.9, None, "skin"), S("", 0, 106, 42, 3.7), S("*_hand", 1.5, 97, 48.5, 2.7, 3.2),
            S("", 2.5, 91, 52.5, 2.6, 4.2), S("", 3.5, 84, 56.5, 2.2, 3.2), S("", 4, 79.5, 59, 1.7, 2.2),
        ), "arm", paired=True, color="shirt"),
        Chain("thumb", "*_hand", "arm", (S("", 4.5, 93.5, 50, 1.7), S("", 8.2, 88.5, 51.5, 1.5)), paired=True, color="skin"),
        Chain("leg", "hips", "leg", (
            S("*_thigh", 0, 91, 9, 8.2, 9.4), S("", 0.5, 76, 9.6, 7.4, 8.2), S("", 0.8, 62, 9.8, 6, 6.6),
            S("*_shin", 1, 49, 9.8, 5.2, 5.4), S("", -0.8, 38, 9.8, 5, 5.6), S("", -1, 22, 9.8, 3.9, 4.2),
            S("*_foot", -1.5, 9, 9.8, 4.1, 4.6, "shoes"), S("", 2, 4.6, 10, 4.4, 4.6), S("*_toes", 11, 3, 10.6, 4.6, 3.6),
            S("", 18, 2.4, 10.8, 4, 2.9),
        ), "leg", paired=True, color="trousers"),
        Chain("heel", "*_foot", "leg", (S("", -5, 3.4, 9.8, 3.8, 3.8),), paired=True, color="shoes"),
    ),
    palettes=(
        {"skin": "#e6b08c", "hair": "#4a2f1d", "eye": "#3a2416", "lips": "#b8604f", "white": "#f4f1ec"},
        {"skin": "#8d5a3a", "hair": "#17110f", "eye": "#1a0f0a", "lips": "#7a3d33", "white": "#f1ede6"},
        {"skin": "#f0c6a4", "hair": "#c99a4b", "eye": "#2f5a7a", "lips": "#c87468", "white": "#f6f4f0"},
        {"skin": "#c68a5e", "hair": "#231815", "eye": "#24150e", "lips": "#a2574b", "white": "#f3efe9"},
        {"skin": "#edb994", "hair": "#9c4a22", "eye": "#3f6a45", "lips": "#c06a5a", "white": "#f5f2ed"},
        {"skin": "#5f3b28", "hair": "#100c0b", "eye": "#140c08", "lips": "#5a2c26", "white": "#efeae2"},
    ),
    wardrobes=(
        {"shirt": "#c8473c", "trousers": "#34466e", "shoes": "#2b2523"},
        {"shirt": "#e0a32e", "trousers": "#4d5a3a", "shoes": "#7a4a2c"},
        {"shirt": "#3f86b8", "trousers": "#3a3a40", "shoes": "#e5e2da"},
        {"shirt": "#5f9a63", "trousers": "#8a7a5c", "shoes": "#3b2a22"},
        {"shirt": "#e9e6df", "trousers": "#4a6a94", "shoes": "#c8473c"},
        {"shirt": "#7a5a9c", "trousers": "#2e2f38", "shoes": "#54504c"},
        {"shirt": "#3d3f47", "trousers": "#a8894f", "shoes": "#6b3f26"},
        {"shirt": "#e07f9a", "trousers": "#d9d6cf", "shoes": "#8a5f9c"},
    ),
    traits={"leg": 0.06, "body": 0.06, "neck": 0.06, "head": 0.05, "girth": 0.14, "size": 0.1},
    typical={"head": 1.1, "limb": 1.04, "body": 0.97}, main_color="shirt",
    words=(
        "human person man woman guy lady adult people dancer boxer runner hero heroine soldier worker farmer athlete "
        "teacher doctor king queen prince princess wizard witch ninja pirate cowboy zombie knight warrior monk figure "
        "character humanoid biped mannequin grandpa grandma father mother chef police policeman samurai fighter actor elf "
        "vampire"
    ),
)
CHILD = replace(
    HUMAN, name="child", traits=HUMAN.traits | {"girth": 0.1},
    typical={"head": 1.38, "leg": 0.82, "body": 0.84, "arm": 0.78, "limb": 0.92, "girth": 0.9, "size": 0.74},
    words="child kid boy girl toddler schoolboy schoolgirl baby children dwarf gnome hobbit",
)
ASTRONAUT = replace(
    HUMAN.without("hair", "ear", "nose", "eye", "mouth", "pupil", "brow").with_chains(
        Chain("head", "neck", "head", (
            S("head", 1, 153, 0, 13, 13), S("", 1.5, 159, 0, 17.5, 17.5), S("", 1.5, 167, 0, 18, 18),
            S("", 1, 172, 0, 14.5, 14.5),
        ), "head", color="suit", blend=0.25),
        Chain("visor", "head", "head", (S("", 6, 165, 0, 16, 14.6),), color="visor", blend=0.1),
        Chain("pack", "chest", "body", (S("", -15, 108, 0, 14, 8), S("", -17, 124, 0, 15, 9),
            S("", -15, 142, 0, 13, 7)), color="trim", blend=0.15),
        Chain("panel", "chest", "body", (S("", 12, 124, 0, 7, 3.5), S("", 12, 130, 0, 7, 3.5)), color="trim", blend=0.15),
        Chain("button", "chest", "body", (S("", 16, 128, 3, 1.9, 1.9),), color="accent", paired=True, solid=False),
    ).reshaped({"spine": 1.28, "arm": 1.5, "leg": 1.3, "thumb": 1.3, "neck": 1.6, "heel": 1.3}), name="astronaut",
    wardrobes=({},),
    palettes=(
        {"suit": "#e9e8e4", "trim": "#b9bcc2", "visor": "#2b3a55", "accent": "#d8572a", "shirt": "#ecebe7",
         "trousers": "#e6e5e1", "skin": "#e6e5e1",
         "shoes": "#8b8f96"},
        {"suit": "#e08a3a", "trim": "#5a5f68", "visor": "#1f2630", "accent": "#3a86c8", "shirt": "#e08a3a",
         "trousers": "#d98436", "skin": "#d98436",
         "shoes": "#44484f"},
        {"suit": "#cfd6dd", "trim": "#6d7f94", "visor": "#c8952e", "accent": "#c43a34", "shirt": "#d3dae1",
         "trousers": "#c8d0d8", "skin": "#c8d0d8",
         "shoes": "#5d6a7a"},
    ),
    traits=HUMAN.traits | {"girth": 0.08, "limb": 0.06},
    words="astronaut cosmonaut spaceman spacewoman diver",
)
ROBOT = Plan(
    "robot", 0.01,
    chains=(
        Chain("spine", "", "body", (
            S("", 0, 84, 0, 15, 13), S("hips", 0, 90, 0, 17, 14), S("", 0, 96, 0, 15, 12),
            S("spine_1", 0, 100, 0, 9, 9, "joint"),
            S("", 0, 106, 0, 9, 9), S("spine_2", 0, 110, 0, 20, 15, "coat"), S("chest", 0, 124, 0, 26, 19),
            S("", 0, 140, 0, 27, 19), S("", 0, 147, 0, 20, 14),
        ), "spine"),
        Chain("core", "chest", "body", (S("", 19, 130, 0, 6.5, 3.5),), color="light", blend=0.1),
        Chain("plate", "chest", "body", (S("", 17, 119, 0, 11, 3), S("", 17, 116, 0, 10, 3)), color="trim", blend=0.1),
        Chain("neck", "chest", "neck", (S("neck", 0, 150, 0, 6.5), S("", 0, 157, 0, 6.5)), "neck", color="joint", blend=0.2),
        Chain("head", "neck", "head", (S("head", 0, 157, 0, 12, 11), S("", 0, 161, 0, 16, 14.5),
            S("", 0, 173, 0, 16, 14.5), S("", 0, 179, 0, 11, 10)), "head", blend=0.15),
        Chain("visor", "head", "head", (S("", 11, 168.5, -0.1, 11.5, 6),
            S("", 11.5, 168.5, 0, 11.5, 6)), color="dark", blend=0.1),
        Chain("eye", "head", "head", (S("", 17, 168.8, 4.8, 2.4),), paired=True, color="light", blend=0.1),
        Chain("earpiece", "head", "head", (S("", 0, 167, 15, 5, 5),
            S("", 0, 167, 18.5, 4.5, 4.5)), paired=True, color="trim", blend=0.1),
        Chain("antenna", "head", "head", (S("", 0, 178, 0, 3, 3, "trim"), S("", -1, 188, 0, 1.7, 1.7),
            S("", -1.4, 193, 0, 3.2, 3.2, "light"), S("", -1.5, 194, 0, 3.2, 3.2)), blend=0.3, chance=0.7),
        Chain("arm", "chest", "arm", (
            S("*_shoulder", 0, 139, 20, 9, 9, "joint"), S("*_upper_arm", 0, 138, 31, 10.5, 10.5, "coat"),
            S("", -0.5, 131, 36, 9), S("", -1, 124, 39.5, 6, None, "joint"),
            S("*_forearm", -1, 114, 44, 6.4), S("", -0.5, 108, 46.5, 8.8, None, "trim"), S("", 1, 94, 52, 9.6),
            S("*_hand", 2, 88, 54, 6, None, "joint"),
            S("", 3, 81, 56.5, 6.5, 8, "coat"), S("", 4, 73, 59, 5.2, 6.4),
        ), "arm", paired=True, blend=0.25),
        Chain("thumb", "*_hand", "arm", (S("", 6.5, 83, 54, 3.2), S("", 12.5, 76.5, 56, 2.8)), paired=True, blend=0.3),
        Chain("leg", "hips", "leg", (
            S("*_thigh", 0, 86, 11, 8.5, 8.5), S("", 0, 76, 13, 9.5, 10), S("", 0.5, 62, 14, 8.6, 9),
            S("", 0.8, 55, 14.4, 6.4, 6.4, "joint"),
            S("*_shin", 1, 49, 14.6, 6.6, 6.6), S("", 0.5, 43, 14.8, 9, 9.4, "trim"), S("", -0.5, 24, 15, 10.5, 11),
            S("", -1, 17, 15, 8.4, 8.4),
            S("*_foot", -1, 11.5, 15, 7, 7, "joint"), S("", 1, 6.5, 15.2, 9, 8.6, "coat"),
            S("*_toes", 12, 5, 15.6, 9.6, 7.4), S("", 20, 4, 15.8, 8.4, 5.6),
        ), "leg", paired=True, blend=0.25),
        Chain("heel", "*_foot", "leg", (S("", -6, 5, 15, 8, 7),), paired=True),
    ),
    palettes=(
        {"coat": "#c9ccd1", "trim": "#5f87b8", "joint": "#43474e", "dark": "#1a1d23", "light": "#4fd6e8"},
        {"coat": "#d9a52a", "trim": "#4a4d53", "joint": "#33363b", "dark": "#16181b", "light": "#f2f0e0"},
        {"coat": "#b5443a", "trim": "#d8d4cc", "joint": "#3d3a3a", "dark": "#1b1818", "light": "#ffd84a"},
        {"coat": "#6f8f7a", "trim": "#c7b68a", "joint": "#3a423c", "dark": "#161a17", "light": "#f08a3a"},
    ),
    traits={"leg": 0.1, "body": 0.08, "head": 0.15, "girth": 0.15, "arm": 0.08},
    words="robot android mech droid cyborg machine automaton golem mecha transformer bot",
)
