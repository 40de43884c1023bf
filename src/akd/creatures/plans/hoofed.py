"""Plans on hooves and on columns: horse, cow, giraffe; elephant and sauropod."""

from akd.creatures.plan import Chain, Marking, Plan
from akd.creatures.plan import Section as S

TRUNK = ("spine", "neck", "front_leg", "hind_leg", "head")
HORSE = Plan(
    "horse", 0.01,
    chains=(
        Chain("spine", "", "body", (
            S("", -72, 132, 0, 14, 16), S("hips", -58, 130, 0, 24, 25), S("spine_1", -30, 124, 0, 26, 28),
            S("spine_2", 2, 121, 0, 27, 31), S("chest", 35, 122, 0, 24, 33), S("", 58, 120, 0, 17, 24),
        ), "spine"),
        Chain("neck", "chest", "neck", (
            S("neck_1", 48, 134, 0, 15, 26), S("neck_2", 68, 156, 0, 11.5, 19), S("neck_3", 86, 178, 0, 9, 14.5),
            S("", 96, 190, 0, 8, 12),
        ), "neck", tilt=10),
        Chain("head", "neck_3", "head", (
            S("head", 96, 191, 0, 8.5, 11), S("", 105, 187, 0, 10, 13), S("", 117, 176, 0, 8.5, 11), S("", 130, 162, 0, 6.8, 8),
            S("", 139, 153, 0, 6.8, 7.4), S("", 143, 149.5, 0, 5.5, 6),
        ), "head"),
        Chain("jaw", "head", "head", (
            S("jaw", 108, 175, 0, 6.5, 7), S("", 122, 160, 0, 4.5, 4.5), S("", 133, 149, 0, 4.2, 3.5),
        )),
        Chain("muzzle", "head", "head", (S("", 142, 150, 0, 7.5, 7),), color="muzzle", solid=False),
        Chain("nostril", "head", "head", (S("", 145, 154, 4.6, 2.2, 2.2),), color="nose", paired=True, solid=False),
        Chain("eye", "head", "head", (S("", 113.5, 184.5, 7.6, 2.9),), paired=True, color="eye", blend=0.15),
        Chain("ear", "head", "ear", (
            S("*_ear", 95, 198, 5.5, 3.4, 2.6), S("", 95, 206, 7, 3.6, 2.6), S("", 97, 214, 7.6, 1.5, 1.5),
        ), paired=True, blend=0.4),
        Chain("mane", "neck_1", "neck", (
            S("", 38, 158, 0, 4, 6), S("", 55, 173, 0, 4, 9), S("", 73, 192, 0, 4, 9), S("", 90, 204, 0, 4, 7),
            S("", 103, 203, 0, 4, 5),
            S("", 111, 195, 0, 3.4, 4),
        ), color="mane", blend=0.3),
        Chain("tail", "hips", "tail", (
            S("tail_1", -76, 140, 0, 5.5, 5), S("tail_2", -87, 131, 0, 6, 6.5), S("tail_3", -93, 112, 0, 7.5, 8),
            S("", -95, 88, 0, 7.5, 8), S("", -95, 60, 0, 3, 3.5),
        ), "tail", color="mane", tilt=10),
        Chain("front_leg", "chest", "leg", (
            S("front_*_upper_arm", 49, 112, 13, 12, 17), S("", 43, 100, 15, 10, 14),
            S("front_*_forearm", 38, 88, 15.5, 8.2, 10.5),
            S("", 41, 70, 15, 6, 7.5), S("front_*_cannon", 44, 50, 14.5, 5, 5.6), S("", 44, 34, 14.5, 3.7, 4.3, "socks"),
            S("front_*_hoof", 44, 19, 14.5, 4.3, 5), S("", 48, 10, 14.5, 4.4, 4.8, "hoof"), S("", 51, 3.5, 14.6, 5.6, 6.6),
        ), "leg", paired=True),
        Chain("hind_leg", "hips", "leg", (
            S("hind_*_thigh", -55, 124, 13, 14, 23), S("", -52, 106, 15.5, 12, 19), S("hind_*_shin", -45, 90, 16, 9, 13),
            S("", -57, 74, 15.5, 6.6, 8.8), S("hind_*_cannon", -69, 57, 15, 5, 6.4), S("", -66.5, 38, 15, 4, 4.6, "socks"),
            S("hind_*_hoof", -64, 19, 15, 4.4, 5.2), S("", -60, 10, 15, 4.4, 4.9, "hoof"), S("", -57, 3.5, 15, 5.5, 6.6),
        ), "leg", paired=True),
    ),
    palettes=(
        {"coat": "#8a4f28", "belly": "#a86f45", "mane": "#1c1412", "socks": "#2a1a14", "hoof": "#2b2522", "muzzle": "#4a2f22",
         "nose": "#1a1110", "eye": "#120b08", "patch": "#f0ebe2"},
        {"coat": "#b5763a", "belly": "#cf9a60", "mane": "#e9d6ad", "socks": "#f0e8da", "hoof": "#6b5a48", "muzzle": "#a07352",
         "nose": "#3a2720", "eye": "#140d0a", "patch": "#f3eee6"},
        {"coat": "#d8d4cd", "belly": "#e8e5df", "mane": "#f2efe9", "socks": "#b9b4ac", "hoof": "#4a443f", "muzzle": "#8d8680",
         "nose": "#3a3533", "eye": "#15100e", "patch": "#8e8a86"},
        {"coat": "#37302d", "belly": "#4a403b", "mane": "#141110", "socks": "#332c29", "hoof": "#211d1b", "muzzle": "#2a2422",
         "nose": "#131010", "eye": "#0d0908", "patch": "#efeae2"},
    ),
    markings=(
        Marking("under", "belly", ("spine", "hind_leg", "front_leg"), amount=(0.2, 0.35)),
        Marking("blotches", "patch", TRUNK, (0.35, 0.6), (0.25, 0.4), chance=0.25),
        Marking("spots", "patch", ("spine", "hind_leg"), (0.13, 0.2), (0.2, 0.4), chance=0.12),
    ),
    words="horse pony foal stallion mare colt steed mustang unicorn",
)
COW = Plan(
    "cow", 0.01,
    chains=(
        Chain("spine", "", "body", (
            S("", -78, 118, 0, 16, 17), S("hips", -66, 116, 0, 27, 25), S("spine_1", -36, 108, 0, 32, 33),
            S("spine_2", 0, 105, 0, 33, 36), S("chest", 36, 106, 0, 27, 36), S("", 58, 106, 0, 18, 26),
        ), "spine"),
        Chain("neck", "chest", "neck", (
            S("neck_1", 56, 114, 0, 15, 25), S("neck_2", 72, 122, 0, 12, 20), S("", 86, 131, 0, 11, 15),
        ), "neck", tilt=10),
        Chain("head", "neck_2", "head", (
            S("head", 88, 133, 0, 11, 12), S("", 97, 133, 0, 12.5, 13), S("", 109, 125, 0, 10.5, 11),
            S("", 120, 115, 0, 9, 9.4),
            S("", 127, 109, 0, 9.2, 8.2),
        ), "head"),
        Chain("jaw", "head", "head", (
            S("jaw", 100, 120, 0, 7.5, 6), S("", 112, 110, 0, 6, 4.6), S("", 121, 104, 0, 5.8, 3.8),
        )),
        Chain("muzzle", "head", "head", (S("", 128, 108, 0, 11, 9.5),), color="muzzle", solid=False),
        Chain("nostril", "head", "head", (S("", 132, 112, 4.8, 2.2, 2.2),), color="nose", paired=True, solid=False),
        Chain("eye", "head", "head", (S("", 104, 131.5, 9.4, 3.0),), paired=True, color="eye", blend=0.15),
        Chain("ear", "head", "ear", (
            S("*_ear", 89, 139, 11, 3.6, 3), S("", 87, 139, 19, 2.6, 5.4), S("", 86, 136, 27, 1.6, 2.4),
        ), paired=True, blend=0.3),
        Chain("horn", "head", "ear", (
            S("", 91, 144, 6.5, 3.8), S("", 91, 150, 13, 3.1), S("", 94, 158, 16.5, 2.2), S("", 96, 164, 15.5, 1.2),
        ), paired=True, color="horn", blend=0.25, chance=0.7),
        Chain("udder", "hips", "body", (S("", -46, 79, 0, 13, 11),), color="muzzle", blend=0.5, chance=0.8),
        Chain("tail", "hips", "tail", (
            S("tail_1", -86, 126, 0, 3.6), S("tail_2", -93, 108, 0, 2.8), S("tail_3", -95, 84, 0, 2.5),
            S("", -96, 66, 0, 3.2, None, "dark"),
            S("", -96, 56, 0, 4.6), S("", -96, 44, 0, 2),
        ), "tail", tilt=8),
        Chain("front_leg", "chest", "leg", (
            S("front_*_upper_arm", 46, 96, 15, 13, 17), S("", 41, 85, 17, 11, 13), S("front_*_forearm", 36, 72, 17.5, 9, 10.5),
            S("", 38, 57, 17, 6.8, 7.8), S("front_*_cannon", 40, 40, 16.5, 5.8, 6.2), S("", 40, 27, 16.5, 4.4, 4.8),
            S("front_*_hoof", 40, 15, 16.5, 5, 5.4), S("", 43, 8, 16.5, 5.2, 5.2, "hoof"), S("", 46, 3.2, 16.6, 6.4, 6.6),
        ), "leg", paired=True),
        Chain("hind_leg", "hips", "leg", (
            S("hind_*_thigh", -60, 110, 16, 14, 23), S("", -58, 92, 19, 12, 18), S("hind_*_shin", -51, 76, 19.5, 9.5, 13),
            S("", -61, 62, 19, 7, 9), S("hind_*_cannon", -72, 47, 18.5, 5.4, 6.8), S("", -70, 30, 18.5, 4.6, 5),
            S("hind_*_hoof", -68, 15, 18.5, 5, 5.4), S("", -65, 8, 18.5, 5.2, 5.2, "hoof"), S("", -62, 3.2, 18.6, 6.4, 6.6),
        ), "leg", paired=True),
    ),
    palettes=(
        {"coat": "#eae6df", "dark": "#26211f", "muzzle": "#d9a59a", "nose": "#5a3a36", "hoof": "#3a322c", "horn": "#d8cbb0",
         "eye": "#120c0a"},
        {"coat": "#8c4a26", "dark": "#efe7da", "muzzle": "#c99b85", "nose": "#4d2f28", "hoof": "#2f2722", "horn": "#e0d3b6",
         "eye": "#120c0a"},
        {"coat": "#caa06a", "dark": "#7a5530", "muzzle": "#4b3a32", "nose": "#201815", "hoof": "#3a3029", "horn": "#cfc2a4",
         "eye": "#120c0a"},
        {"coat": "#2b2624", "dark": "#e9e4dc", "muzzle": "#5a4a45", "nose": "#1a1413", "hoof": "#221d1a", "horn": "#c9bda2",
         "eye": "#0e0908"},
    ),
    markings=(Marking("blotches", "dark", TRUNK, (0.32, 0.55), (0.35, 0.55), chance=0.8),),
    words="cow bull ox calf cattle heifer buffalo bison",
)
GIRAFFE = Plan(
    "giraffe", 0.01,
    chains=(
        Chain("spine", "", "body", (
            S("", -66, 228, 0, 16, 18), S("hips", -55, 230, 0, 25, 27), S("spine_1", -28, 236, 0, 29, 33),
            S("spine_2", 0, 244, 0, 31, 40), S("chest", 28, 254, 0, 28, 44), S("", 52, 258, 0, 18, 28),
        ), "spine"),
        Chain("neck", "chest", "neck", (
            S("neck_1", 44, 282, 0, 17, 30), S("neck_2", 66, 326, 0, 13.5, 20), S("neck_3", 86, 372, 0, 12, 16.5),
            S("neck_4", 104, 418, 0, 11, 14.5), S("", 118, 452, 0, 10.5, 13.5),
        ), "neck", tilt=9),
        Chain("head", "neck_4", "head", (
            S("head", 119, 456, 0, 12, 13), S("", 132, 461, 0, 14, 14.5), S("", 150, 451, 0, 10.5, 11.5),
            S("", 168, 438, 0, 8.5, 8.8),
            S("", 178, 431, 0, 8.2, 7.8),
        ), "head"),
        Chain("jaw", "head", "head", (
            S("jaw", 138, 446, 0, 8, 7), S("", 154, 434, 0, 6.2, 5), S("", 169, 425, 0, 5.6, 4.2),
        )),
        Chain("muzzle", "head", "head", (S("", 178, 430, 0, 10, 10),), color="muzzle", solid=False),
        Chain("nostril", "head", "head", (S("", 182, 436, 4, 2.2, 2.2),), color="eye", paired=True, solid=False),
        Chain("eye", "head", "head", (S("", 140.5, 461.5, 10.6, 4.4),), paired=True, color="eye", blend=0.12),
        Chain("ear", "head", "ear", (
            S("*_ear", 121, 464, 11, 4.5, 4), S("", 116, 468, 23, 4, 7.5), S("", 113, 471, 34, 2.4, 3),
        ), paired=True, blend=0.3),
        Chain("horn", "head", "head", (
            S("", 124, 471, 6, 4), S("", 120, 486, 7, 3.2), S("", 119, 493, 7.3, 4.6, None, "dark"),
        ), paired=True, blend=0.3),
        Chain("mane", "neck_1", "neck", (
            S("", 20, 300, 0, 4, 6), S("", 48, 345, 0, 4, 8), S("", 72, 392, 0, 4, 8), S("", 96, 440, 0, 4, 8),
            S("", 111, 466, 0, 4, 6),
        ), color="mane", blend=0.3),
        Chain("tail", "hips", "tail", (
            S("tail_1", -76, 236, 0, 5), S("tail_2", -87, 212, 0, 3.9), S("tail_3", -91, 178, 0, 3.6),
            S("", -92, 150, 0, 4.4, None, "dark"),
            S("", -92, 136, 0, 6.5), S("", -92, 116, 0, 2.8),
        ), "tail", tilt=8),
        Chain("front_leg", "chest", "leg", (
            S("front_*_upper_arm", 45, 236, 15, 14, 22), S("", 39, 214, 17, 11.5, 15),
            S("front_*_forearm", 35, 188, 17, 9.2, 11),
            S("", 37, 150, 16.5, 7.2, 8.2), S("front_*_cannon", 38, 106, 16, 7, 7.8), S("", 38, 70, 16, 5.4, 6, "belly"),
            S("front_*_hoof", 38, 24, 16, 6.4, 7), S("", 42, 12, 16, 6.4, 6.8, "hoof"), S("", 45, 4.5, 16.2, 8, 8.6),
        ), "leg", paired=True),
        Chain("hind_leg", "hips", "leg", (
            S("hind_*_thigh", -50, 222, 16, 15, 26), S("", -46, 196, 18, 12.5, 19), S("hind_*_shin", -40, 168, 18, 9.6, 12.5),
            S("", -52, 140, 17.5, 7.2, 9), S("hind_*_cannon", -62, 108, 17, 6.4, 7.6), S("", -59, 70, 17, 5.4, 6, "belly"),
            S("hind_*_hoof", -56, 24, 17, 6.4, 7), S("", -52, 12, 17, 6.4, 6.8, "hoof"), S("", -49, 4.5, 17.2, 8, 8.6),
        ), "leg", paired=True),
    ),
    palettes=(
        {"coat": "#e8cf98", "patch": "#a4632a", "belly": "#efe0bb", "mane": "#7d4a22", "dark": "#2c1d15", "hoof": "#4a3b30",
         "muzzle": "#b99a72", "eye": "#120c08"},
        {"coat": "#ead9ae", "patch": "#6f3d1d", "belly": "#f2e8cd", "mane": "#5d3518", "dark": "#211610", "hoof": "#3a2e26",
         "muzzle": "#a88a68", "eye": "#120c08"},
        {"coat": "#dcb878", "patch": "#b8742f", "belly": "#ead3a0", "mane": "#8f5726", "dark": "#35231a", "hoof": "#54453a",
         "muzzle": "#c2a276", "eye": "#150e0a"},
    ),
    markings=(
        Marking("patches", "patch", ("spine", "neck", "front_leg", "hind_leg"), (0.16, 0.21), (0.5, 0.65)),
        Marking("under", "belly", ("spine",), amount=(0.12, 0.2)),
    ),
    traits={"leg": 0.07, "neck": 0.09},
    words="giraffe",
)
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
            solid=False)
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
    words="elephant mammoth mastodon",
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
        Chain("nostril", "head", "head", (S("", 259, 360, 4.5, 2, 2),), color="eye", paired=True, solid=False),
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
            solid=False)
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
    words="sauropod brontosaurus brachiosaurus diplodocus apatosaurus longneck",
)
