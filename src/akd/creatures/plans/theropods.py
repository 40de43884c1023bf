"""Plans on two legs with a horizontal trunk: tyrannosaur, ostrich, chick."""

from akd.creatures.plan import Chain, Marking, Plan
from akd.creatures.plan import Section as S

TYRANNOSAUR = Plan(
    "tyrannosaur", 0.01,
    chains=(
        Chain("spine", "", "body", (
            S("", -34, 232, 0, 28, 34), S("hips", -10, 234, 0, 36, 46), S("spine_1", 30, 232, 0, 38, 50),
            S("spine_2", 68, 232, 0, 37, 50), S("chest", 102, 238, 0, 33, 46), S("", 128, 252, 0, 24, 34),
        ), "spine"),
        Chain("neck", "chest", "neck", (
            S("neck_1", 118, 258, 0, 26, 36), S("neck_2", 140, 286, 0, 22, 29), S("", 154, 306, 0, 21, 26),
        ), "neck", tilt=8),
        Chain("head", "neck_2", "head", (
            S("head", 154, 314, 0, 25, 27), S("", 176, 322, 0, 30, 28), S("", 202, 317, 0, 25, 22), S("", 228, 311, 0, 20, 17),
            S("", 250, 307, 0, 16.5, 13), S("", 259, 305, 0, 13, 10.5),
        ), "head"),
        Chain("jaw", "head", "head", (
            S("jaw", 168, 292, 0, 21, 12), S("", 194, 272, 0, 18, 10), S("", 222, 261, 0, 15, 8.5), S("", 243, 258, 0, 11, 7),
        ), color="belly", blend=0.4),
        Chain("tongue", "jaw", "head", (S("", 186, 284, 0, 12, 5), S("", 214, 270, 0, 11, 4),
            S("", 230, 266, 0, 8, 3.5)), color="mouth", blend=0.2),
        *(Chain(f"tooth_{i}", "head", "head", (S("", x, 294 + i * 0.6, z, 4.2),
            S("", x + 1, 284 + i * 0.6, z, 1.8)), paired=True, color="teeth", blend=0.2)
          for i, (x, z) in enumerate(((206, 18), (224, 15.5), (240, 11.5), (252, 7)))),
        Chain("brow", "head", "head", (S("", 178, 342, 18, 6, 6),
            S("", 198, 337, 17, 5, 5)), paired=True, color="dark", blend=0.7),
        Chain("eye", "head", "head", (S("", 193, 330, 20.5, 6),), paired=True, color="iris", blend=0.1),
        Chain("pupil", "head", "head", (S("", 196.5, 330, 26, 3.4),), paired=True, color="eye", solid=False),
        Chain("nostril", "head", "head", (S("", 257, 312, 9, 3, 3),), paired=True, color="eye", solid=False),
        Chain("arm", "chest", "arm", (
            S("*_upper_arm", 112, 216, 24, 11, 12), S("", 112, 204, 29, 9), S("*_forearm", 106, 190, 31, 7),
            S("*_hand", 122, 180, 31, 5.5),
            S("", 130, 174, 32, 5.2),
        ), "arm", paired=True),
        Chain("claw", "*_hand", "arm", (S("", 130, 174, 34, 3.6, None),
            S("", 138, 166, 35.5, 2.6, None, "claw")), paired=True, blend=0.3),
        Chain("inner_claw", "*_hand", "arm", (S("", 130, 174, 30, 3.6, None),
            S("", 139, 167, 28.5, 2.6, None, "claw")), paired=True, blend=0.3),
        Chain("tail", "hips", "tail", (
            S("tail_1", -48, 232, 0, 27, 33), S("tail_2", -92, 228, 0, 21, 25), S("tail_3", -136, 226, 0, 16, 18.5),
            S("tail_4", -180, 228, 0, 11.5, 13), S("tail_5", -224, 234, 0, 8, 9), S("", -268, 244, 0, 4),
        ), "tail", tilt=7),
        Chain("leg", "hips", "leg", (
            S("*_thigh", -4, 212, 26, 26, 42), S("", 10, 178, 33, 23, 35), S("*_shin", 26, 140, 36, 16, 20),
            S("", 8, 108, 36, 13.5, 17),
            S("*_foot", -22, 74, 36, 9.5, 11), S("", -12, 40, 36, 9, 9.5), S("*_toes", 0, 13, 36, 12, 11),
            S("", 18, 8, 36, 9.5, 9),
            S("", 38, 6, 36, 7, 7), S("", 46, 4, 36, 4.5, 5, "claw"),
        ), "leg", paired=True),
        Chain("outer_toe", "*_toes", "leg", (S("", 6, 9, 42, 8, 8), S("", 26, 6.5, 53, 6.5, 7),
            S("", 35, 4, 57, 4.5, 5, "claw")), paired=True, blend=0.5),
        Chain("inner_toe", "*_toes", "leg", (S("", 6, 9, 31, 8, 8), S("", 25, 6.5, 21, 6.5, 7),
            S("", 33, 4, 18, 4.5, 5, "claw")), paired=True, blend=0.5),
    ),
    palettes=(
        {"coat": "#6d7a3f", "belly": "#cdbf86", "dark": "#414a26", "mouth": "#a8453f", "teeth": "#f2ecd8", "claw": "#2a241d",
         "iris": "#e3a51f", "eye": "#100c08"},
        {"coat": "#8a5636", "belly": "#d8b88a", "dark": "#54301d", "mouth": "#9c3f3c", "teeth": "#f0e8d2", "claw": "#241b16",
         "iris": "#d8c22a", "eye": "#100c08"},
        {"coat": "#5a5f66", "belly": "#a9a79f", "dark": "#363a41", "mouth": "#a24b4b", "teeth": "#efe9da", "claw": "#1d1b1a",
         "iris": "#d9622a", "eye": "#0e0b0a"},
        {"coat": "#3f7358", "belly": "#bccf9a", "dark": "#264a3c", "mouth": "#ab4a44", "teeth": "#f4eedb", "claw": "#20211c",
         "iris": "#e8b52c", "eye": "#100d0a"},
    ),
    markings=(
        Marking("under", "belly", ("spine", "neck", "tail", "leg", "arm"), amount=(0.28, 0.38)),
        Marking("stripes", "dark", ("spine", "neck", "tail", "leg"), (0.22, 0.34), (0.25, 0.42), chance=0.7),
        Marking("back", "dark", ("spine", "neck", "tail", "head"), amount=(0.12, 0.25), chance=0.6),
    ),
    traits={"arm": 0.12, "head": 0.06, "girth": 0.08},
    words="tyrannosaur tyrannosaurus t-rex trex dinosaur dino allosaurus raptor velociraptor theropod godzilla rex",
)
OSTRICH = Plan(
    "ostrich", 0.01,
    chains=(
        Chain("spine", "", "body", (
            S("", -46, 140, 0, 12, 13), S("", -34, 140, 0, 24, 24), S("hips", -14, 138, 0, 31, 31),
            S("chest", 14, 138, 0, 28, 29), S("", 34, 144, 0, 15, 18),
        ), "spine"),
        Chain("neck", "chest", "neck", (
            S("neck_1", 36, 150, 0, 9.5, 12), S("neck_2", 46, 172, 0, 6.2, 6.8), S("neck_3", 50, 196, 0, 5.2, 5.5),
            S("neck_4", 52, 218, 0, 4.8, 5),
            S("", 54, 236, 0, 4.8, 5),
        ), "neck", color="skin", tilt=9),
        Chain("head", "neck_4", "head", (S("head", 55, 238, 0, 6.4, 6.2), S("", 60, 241, 0, 7.8, 7),
            S("", 66, 239.5, 0, 5.6, 4.8)), "head", color="skin"),
        Chain("upper_beak", "head", "head", (S("", 66, 239, 0, 5, 3), S("", 73, 237.6, 0, 4.2, 2),
            S("", 78, 236.6, 0, 2.6, 1.6)), color="beak", blend=0.3),
        Chain("jaw", "head", "head", (S("jaw", 63, 235, 0, 4.4, 2), S("", 70, 233.6, 0, 3.6, 1.5),
            S("", 75, 233, 0, 2.2, 1.4)), color="beak", blend=0.3),
        Chain("eye", "head", "head", (S("", 63.2, 243.2, 5.6, 3.1),), paired=True, color="eye", blend=0.15),
        Chain("tuft", "head", "head", (S("", 54, 245, 0, 5.2, 4.5), S("", 58, 248, 0, 4, 2.6)), color="down", blend=0.5),
        Chain("wing", "chest", "arm", (
            S("*_wing_1", 17, 148, 25, 6, 12), S("*_wing_2", -4, 144, 36, 4.6, 16), S("*_wing_3", -28, 137, 38, 4.2, 14),
            S("", -46, 130, 37, 3.6, 9, "plume"), S("", -57, 126, 36, 3, 5),
        ), "wing", paired=True, blend=0.5),
        Chain("tail", "hips", "tail", (
            S("tail_1", -40, 146, 0, 17, 13), S("tail_2", -56, 150, 0, 15, 10, "plume"), S("", -72, 150, 0, 11, 8),
            S("", -82, 147, 0, 5, 4),
        ), "tail", tilt=10),
        Chain("leg", "hips", "leg", (
            S("*_thigh", -6, 122, 14, 14, 19), S("", 4, 110, 17, 11.5, 15), S("*_shin", 14, 98, 18, 8, 10, "skin"),
            S("", 5, 80, 17, 6, 7.5),
            S("*_foot", -8, 52, 16, 4.2, 4.6), S("", -4, 30, 16, 3.4, 3.8), S("*_toes", 1, 6.5, 16, 4.4, 4.8),
            S("", 12, 3.6, 16, 4.4, 4), S("", 22, 2.8, 16, 3.4, 3.2, "beak"),
        ), "leg", paired=True),
        Chain("outer_toe", "*_toes", "leg", (S("", 4, 4, 19, 3.2, 3.6),
            S("", 12, 2.8, 24, 2.8, 3)), paired=True, color="skin", blend=0.5),
    ),
    palettes=(
        {"coat": "#25211f", "plume": "#efeae2", "skin": "#d9a895", "down": "#4a423d", "beak": "#c99a6e", "eye": "#120c0a",
         "belly": "#3a3431"},
        {"coat": "#7d6a58", "plume": "#cfc2b0", "skin": "#bfa18c", "down": "#6a5a4c", "beak": "#a88661", "eye": "#120c0a",
         "belly": "#927e6a"},
        {"coat": "#3a3634", "plume": "#f2eee8", "skin": "#8fa0ad", "down": "#5a5350", "beak": "#b58d6a", "eye": "#0f0b0a",
         "belly": "#4a4542"},
    ),
    markings=(Marking("blotches", "belly", ("spine", "wing", "tail"), (0.12, 0.2), (0.3, 0.5), chance=0.8),),
    traits={"neck": 0.1, "leg": 0.08},
    words="ostrich emu rhea",
)
CHICK = Plan(
    "chick", 0.005,
    chains=(
        Chain("spine", "", "body", (
            S("", -17, 26, 0, 6, 6), S("hips", -7, 24, 0, 13, 12.5), S("chest", 5, 24, 0, 13, 12.5), S("", 12, 26, 0, 8, 8),
        ), "spine"),
        Chain("neck", "chest", "neck", (S("neck", 9, 31, 0, 8.4, 8.6), S("", 12, 36, 0, 8, 8)), "neck", tilt=8),
        Chain("head", "neck", "head", (S("head", 12, 38, 0, 9, 9), S("", 14.5, 41, 0, 10, 9.4),
            S("", 17, 41, 0, 8, 7.4)), "head"),
        Chain("upper_beak", "head", "head", (S("", 23.5, 41, 0, 3, 2.4),
            S("", 29, 39.6, 0, 1.3, 1.1)), color="beak", blend=0.2),
        Chain("jaw", "head", "head", (S("jaw", 22, 37.4, 0, 2.4, 1.3), S("", 26.4, 35.6, 0, 1.2, 1.0)), color="beak", blend=0.2),
        Chain("eye", "head", "head", (S("", 20, 44, 6.8, 2),), paired=True, color="eye", blend=0.15),
        Chain("wing", "chest", "arm", (S("*_wing_1", 5, 28, 11.5, 2.6, 4), S("*_wing_2", -3, 26.5, 15.6, 2, 6.4),
            S("", -13, 23.5, 16.6, 1.6, 3)), "wing", paired=True, color="wing"),
        Chain("tail", "hips", "tail", (S("tail", -18, 28, 0, 5, 4), S("", -25, 32, 0, 2.6, 2)), "tail", color="wing", tilt=12),
        Chain("leg", "hips", "leg", (
            S("*_thigh", -2, 17, 6, 5, 6), S("", 0.5, 13.5, 6.5, 3.4, 4), S("*_shin", 2, 11, 6.6, 2, 2.2, "beak"),
            S("*_foot", -2.5, 6, 6.6, 1.5, 1.5),
            S("*_toes", 0, 1.5, 6.6, 1.7, 1.6), S("", 4, 1.1, 6.6, 1.6, 1.4), S("", 8, 0.9, 6.6, 1.2, 1.2),
        ), "leg", paired=True),
        Chain("outer_toe", "*_toes", "leg", (S("", 1, 1.2, 7.2, 1.5, 1.4),
            S("", 5.4, 0.9, 10.4, 1.2, 1.2)), paired=True, color="beak", blend=0.4),
        Chain("inner_toe", "*_toes", "leg", (S("", 1, 1.2, 6, 1.5, 1.4),
            S("", 5.4, 0.9, 3.2, 1.2, 1.2)), paired=True, color="beak", blend=0.4),
    ),
    palettes=(
        {"coat": "#f2cf4e", "belly": "#f8e596", "wing": "#e3b23a", "beak": "#e28a2e", "eye": "#140e0a"},
        {"coat": "#b98a52", "belly": "#e6cfa0", "wing": "#7d5730", "beak": "#d99a4a", "eye": "#140e0a"},
        {"coat": "#eeeae2", "belly": "#f7f5f0", "wing": "#d8d2c8", "beak": "#e09a3c", "eye": "#140e0a"},
        {"coat": "#5b86b5", "belly": "#e3b184", "wing": "#3c618f", "beak": "#4a4038", "eye": "#0f0b0a"},
    ),
    markings=(Marking("under", "belly", ("spine", "neck"), amount=(0.3, 0.5)),),
    words="chick chicken hen rooster duck duckling",
)
