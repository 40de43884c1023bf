"""Plans on paws: dog, fox, cat, bear."""

from dataclasses import replace

from akd.creatures.plan import Chain, Marking, Plan
from akd.creatures.plan import Section as S

DOG = Plan(
    "dog", 0.01,
    chains=(
        Chain("spine", "", "body", (
            S("", -29, 50, 0, 5, 6), S("hips", -24, 50, 0, 8, 8.5), S("spine_1", -11, 50, 0, 8.5, 9),
            S("spine_2", 4, 49, 0, 9.5, 11), S("chest", 17, 48, 0, 10, 13), S("", 26, 48, 0, 7.5, 10),
        ), "spine"),
        Chain("neck", "chest", "neck", (
            S("neck_1", 24, 54, 0, 6.5, 8), S("neck_2", 32, 62, 0, 5.5, 6.5), S("", 38, 68, 0, 5.2, 6),
        ), "neck", tilt=12),
        Chain("head", "neck_2", "head", (
            S("head", 38, 70, 0, 6, 6), S("", 43, 71.5, 0, 7.2, 6.6), S("", 47.5, 70.3, 0, 5.8, 5.4),
            S("", 52.5, 68.4, 0, 3.8, 3.6), S("", 58.5, 67.8, 0, 3.3, 3),
        ), "head"),
        Chain("jaw", "head", "head", (
            S("jaw", 45, 66.6, 0, 3.6, 2.4), S("", 52, 64.7, 0, 2.9, 1.7), S("", 57.4, 64.2, 0, 2.4, 1.4),
        ), color="belly"),
        Chain("nose", "head", "head", (S("", 61, 69.4, 0, 2, 1.6),), color="nose", blend=0.3),
        Chain("eye", "head", "head", (S("", 49, 73.1, 4.1, 1.6),), paired=True, color="eye", blend=0.2),
        Chain("ear", "head", "ear", (
            S("*_ear", 41, 75.5, 4.2, 3, 1.6), S("", 40, 79.5, 5.4, 2.6, 1.1), S("", 40.5, 83.5, 6, 1.0, 0.8),
        ), paired=True, color="dark", chance=0.5),
        Chain("ear", "head", "ear", (
            S("*_ear", 42, 75.6, 5, 1.6, 2.4), S("", 41.5, 75.2, 8.2, 1.5, 3), S("", 42, 70.5, 9.4, 1.3, 3.2),
            S("", 42.5, 66.2, 9.2, 1.2, 2.4),
        ), paired=True, color="dark", chance=0.5),
        Chain("tail", "hips", "tail", (
            S("tail_1", -30, 53, 0, 2.9), S("tail_2", -37, 54, 0, 2.6), S("tail_3", -44, 57, 0, 2.3),
            S("tail_4", -50, 62, 0, 1.9), S("", -54, 68, 0, 1.2),
        ), "tail", tilt=30),
        Chain("front_leg", "chest", "leg", (
            S("front_*_upper_arm", 21, 42, 6.5, 4.2, 6.5), S("", 17, 35, 7.3, 3.4, 4.6),
            S("front_*_forearm", 14, 29, 7.4, 2.7, 3.3),
            S("", 16, 20, 7.4, 2.2, 2.5), S("front_*_hand", 17, 11, 7.4, 2.0, 2.1), S("", 17.5, 5.5, 7.5, 2.1, 2.1),
            S("front_*_toes", 18.5, 2.4, 7.6, 2.9, 2.4), S("", 22, 1.7, 7.6, 2.7, 2.0),
        ), "leg", paired=True),
        Chain("hind_leg", "hips", "leg", (
            S("hind_*_thigh", -22, 46, 6.2, 5, 8.5), S("", -20, 38, 7.2, 4.4, 7), S("hind_*_shin", -17, 30, 7.4, 3.2, 4.3),
            S("", -23, 22, 7.3, 2.6, 3), S("hind_*_foot", -29, 15, 7.2, 1.9, 2.1), S("", -28, 7.5, 7.3, 1.9, 1.9),
            S("hind_*_toes", -26.5, 2.4, 7.4, 2.7, 2.3), S("", -23, 1.7, 7.4, 2.6, 1.9),
        ), "leg", paired=True),
    ),
    palettes=(
        {"coat": "#a86f3a", "belly": "#dcb98a", "dark": "#6e4522", "nose": "#1d1513", "eye": "#120c0a"},
        {"coat": "#3a3532", "belly": "#8a6a48", "dark": "#1f1b1a", "nose": "#141010", "eye": "#0e0a09"},
        {"coat": "#d9c3a0", "belly": "#f1e7d6", "dark": "#b18d5e", "nose": "#2a1d19", "eye": "#150f0c"},
        {"coat": "#7f7a76", "belly": "#d9d5cf", "dark": "#4b4744", "nose": "#161212", "eye": "#1a1410"},
        {"coat": "#e9e4da", "belly": "#f5f2ec", "dark": "#8a5f3b", "nose": "#221815", "eye": "#130d0b"},
    ),
    markings=(
        Marking("under", "belly", ("spine", "neck", "tail", "hind_leg", "head"), amount=(0.25, 0.45)),
        Marking("back", "dark", ("spine", "neck", "tail"), amount=(0.1, 0.3), chance=0.5),
        Marking("blotches", "dark", ("spine", "neck", "hind_leg", "front_leg", "head"), (0.4, 0.8), (0.2, 0.4), chance=0.3),
    ),
    words=(
        "dog puppy pup hound wolf husky retriever terrier shepherd labrador poodle beagle collie dingo coyote jackal mutt "
        "dalmatian greyhound bulldog corgi dachshund quadruped"
    ),
)
FOX = replace(
    DOG.with_chains(
        Chain("head", "neck_2", "head", (
            S("head", 38, 69, 0, 5.4, 5.6), S("", 43, 70.5, 0, 7, 6), S("", 48, 69, 0, 5.2, 4.6),
            S("", 54, 67, 0, 2.8, 2.7), S("", 60.5, 65.8, 0, 1.9, 1.8),
        ), "head"),
        Chain("jaw", "head", "head", (
            S("jaw", 45, 66, 0, 3.4, 2), S("", 52, 64, 0, 2.2, 1.3), S("", 58, 63.2, 0, 1.5, 1.0),
        ), color="belly"),
        Chain("nose", "head", "head", (S("", 62.4, 66.5, 0, 1.5, 1.3),), color="nose", blend=0.3),
        Chain("eye", "head", "head", (S("", 47.8, 71.4, 4.6, 1.45),), paired=True, color="eye", blend=0.2),
        Chain("ear", "head", "ear", (
            S("*_ear", 40.5, 74, 4.4, 3.6, 1.6), S("", 39.5, 79.5, 5.6, 3, 1.2), S("", 39.5, 86.5, 6.4, 1.0, 0.9, "socks"),
        ), paired=True),
        Chain("tail", "hips", "tail", (
            S("tail_1", -30, 52, 0, 3), S("tail_2", -39, 48, 0, 5), S("tail_3", -50, 43, 0, 6.6), S("tail_4", -62, 39, 0, 6.2),
            S("", -72, 38, 0, 4.6, None, "belly"), S("", -79, 38.5, 0, 1.4),
        ), "tail", tilt=22),
        Chain("front_leg", "chest", "leg", (
            S("front_*_upper_arm", 21, 42, 6.2, 4, 6), S("", 17, 35, 7, 3.2, 4.2), S("front_*_forearm", 14, 29, 7, 2.4, 3),
            S("", 16, 20, 7, 1.9, 2.1, "socks"), S("front_*_hand", 17, 11, 7, 1.7, 1.8), S("", 17.5, 5.5, 7, 1.8, 1.8),
            S("front_*_toes", 18.5, 2.2, 7.1, 2.4, 2.2), S("", 22, 1.6, 7.1, 2.3, 1.8),
        ), "leg", paired=True),
        Chain("hind_leg", "hips", "leg", (
            S("hind_*_thigh", -22, 46, 6, 4.8, 8), S("", -20, 38, 6.8, 4.2, 6.6), S("hind_*_shin", -17, 30, 7, 3, 4),
            S("", -23, 22, 7, 2.3, 2.7), S("hind_*_foot", -29, 15, 7, 1.7, 1.9, "socks"), S("", -28, 7.5, 7, 1.7, 1.7),
            S("hind_*_toes", -26.5, 2.2, 7.1, 2.3, 2.1), S("", -23, 1.6, 7.1, 2.2, 1.8),
        ), "leg", paired=True),
    ).reshaped({"spine": 0.9, "neck": 0.95}),
    name="fox", metres=0.0075,
    palettes=(
        {"coat": "#cf6a24", "belly": "#f3ebdd", "dark": "#8f4418", "socks": "#241813", "nose": "#17100e", "eye": "#1c110a"},
        {"coat": "#b4552a", "belly": "#eadfce", "dark": "#74341a", "socks": "#1c1412", "nose": "#140f0d", "eye": "#1c110a"},
        {"coat": "#dd8a3c", "belly": "#f6efe2", "dark": "#a8602a", "socks": "#33211a", "nose": "#1a1210", "eye": "#22140c"},
        {"coat": "#e6e4e2", "belly": "#f7f6f4", "dark": "#c9c6c4", "socks": "#d2cfcc", "nose": "#1e1917", "eye": "#1a1412"},
    ),
    markings=(
        Marking("under", "belly", ("spine", "neck", "head", "tail"), amount=(0.32, 0.42)),
        Marking("back", "dark", ("spine", "neck", "tail"), amount=(0.1, 0.2), chance=0.5),
    ),
    words="fox vixen",
)
CAT = Plan(
    "cat", 0.005,
    chains=(
        Chain("spine", "", "body", (
            S("", -30, 46, 0, 5, 6), S("hips", -25, 46, 0, 7.6, 8.6), S("spine_1", -11, 45, 0, 8, 9),
            S("spine_2", 3, 44.5, 0, 8.2, 9.5), S("chest", 15, 45, 0, 8, 10), S("", 23, 46.5, 0, 6.2, 8),
        ), "spine"),
        Chain("neck", "chest", "neck", (S("neck_1", 20, 51, 0, 6, 7), S("neck_2", 26, 57, 0, 5.6, 6.2),
            S("", 30, 61, 0, 5.6, 6)), "neck", tilt=12),
        Chain("head", "neck_2", "head", (
            S("head", 31, 63, 0, 6.4, 6.4), S("", 35, 64.5, 0, 8.4, 7.6), S("", 39.5, 63.5, 0, 7, 6.2),
            S("", 43, 61.5, 0, 4.2, 3.6),
        ), "head"),
        Chain("muzzle", "head", "head", (S("", 43.6, 60.6, 1.6, 2.3, 2),), paired=True, color="belly", blend=0.4),
        Chain("jaw", "head", "head", (S("jaw", 39, 59, 0, 3.6, 2), S("", 43.5, 58, 0, 2, 1.3)), color="belly"),
        Chain("nose", "head", "head", (S("", 46, 62.4, 0, 1.3, 1.0),), color="nose", blend=0.3),
        Chain("eye", "head", "head", (S("", 40.9, 65.6, 4.2, 2.5),), paired=True, color="iris", blend=0.12),
        Chain("pupil", "head", "head", (S("", 43.2, 65.9, 4.9, 0.8, 1.7),), paired=True, color="eye", solid=False),
        Chain("ear", "head", "ear", (
            S("*_ear", 34.5, 69.5, 5, 3.4, 1.6), S("", 34, 74, 6.4, 2.6, 1.2), S("", 34, 79, 7.4, 0.9, 0.8),
        ), paired=True),
        Chain("tail", "hips", "tail", (
            S("tail_1", -31, 48, 0, 2.9), S("tail_2", -40, 50, 0, 2.6), S("tail_3", -49, 55, 0, 2.5),
            S("tail_4", -55, 64, 0, 2.4),
            S("", -56, 74, 0, 2.3, None, "dark"), S("", -52, 82, 0, 2),
        ), "tail", tilt=30),
        Chain("front_leg", "chest", "leg", (
            S("front_*_upper_arm", 18, 39, 5.4, 3.8, 5.6), S("", 14, 32, 6, 3.2, 4.2),
            S("front_*_forearm", 11.5, 26, 6, 2.7, 3.2),
            S("", 13.5, 18, 6, 2.3, 2.5), S("front_*_hand", 14.5, 9.5, 6, 2.1, 2.2), S("", 15, 5, 6, 2.3, 2.2, "socks"),
            S("front_*_toes", 16, 2.4, 6, 3, 2.5), S("", 19.5, 1.8, 6, 2.8, 2.1),
        ), "leg", paired=True),
        Chain("hind_leg", "hips", "leg", (
            S("hind_*_thigh", -23, 42, 5.4, 4.6, 8.6), S("", -20, 34, 6.4, 4.2, 7.2),
            S("hind_*_shin", -16.5, 26, 6.6, 3.2, 4.4),
            S("", -22.5, 19, 6.5, 2.6, 3), S("hind_*_foot", -28.5, 12.5, 6.4, 2.1, 2.3),
            S("", -27, 6.5, 6.4, 2.2, 2.1, "socks"),
            S("hind_*_toes", -24.5, 2.4, 6.4, 2.9, 2.4), S("", -20.5, 1.8, 6.4, 2.7, 2.1),
        ), "leg", paired=True),
    ),
    palettes=(
        {"coat": "#d98a3e", "belly": "#f4e3c8", "dark": "#a9581f", "socks": "#f2e4cc", "nose": "#c77868", "iris": "#9fb83a",
         "eye": "#0f0c08"},
        {"coat": "#8b8580", "belly": "#d6d1cb", "dark": "#4c4744", "socks": "#8b8580", "nose": "#8a5a55", "iris": "#c9b03a",
         "eye": "#0f0c0a"},
        {"coat": "#2c2928", "belly": "#3a3634", "dark": "#1a1817", "socks": "#2c2928", "nose": "#221c1b", "iris": "#c9c13c",
         "eye": "#090808"},
        {"coat": "#e4d6c0", "belly": "#f2eadc", "dark": "#5b4636", "socks": "#6a5443", "nose": "#6a4f49", "iris": "#5f9ac8",
         "eye": "#0d0b0a"},
        {"coat": "#efece7", "belly": "#f8f6f3", "dark": "#c98a4e", "socks": "#f4f1ec", "nose": "#d39a92", "iris": "#6fb26a",
         "eye": "#0f0c0a"},
    ),
    markings=(
        Marking("under", "belly", ("spine", "neck", "head", "hind_leg"), amount=(0.25, 0.4)),
        Marking("stripes", "dark", ("spine", "tail", "hind_leg", "front_leg", "neck"), (0.16, 0.24), (0.3, 0.45), chance=0.6),
        Marking("blotches", "dark", ("spine", "hind_leg", "head", "neck"), (0.4, 0.7), (0.2, 0.4), chance=0.3),
    ),
    words="cat kitten kitty tabby tomcat housecat feline lynx bobcat ocelot wildcat",
)
BEAR = Plan(
    "bear", 0.01,
    chains=(
        Chain("spine", "", "body", (
            S("", -54, 74, 0, 14, 14), S("hips", -44, 76, 0, 24, 23), S("spine_1", -18, 76, 0, 27, 27),
            S("spine_2", 10, 78, 0, 28, 29), S("chest", 34, 82, 0, 26, 30), S("", 52, 82, 0, 18, 22),
        ), "spine"),
        Chain("neck", "chest", "neck", (S("neck_1", 48, 88, 0, 19, 22), S("neck_2", 62, 94, 0, 16.5, 18),
            S("", 72, 97, 0, 15, 16)), "neck", tilt=9),
        Chain("head", "neck_2", "head", (
            S("head", 74, 98, 0, 15.5, 15.5), S("", 84, 100, 0, 17.5, 15.5), S("", 93, 96, 0, 12, 10.5),
            S("", 104, 91, 0, 7.2, 6.6),
            S("", 112, 89, 0, 6.4, 5.4),
        ), "head"),
        Chain("jaw", "head", "head", (S("jaw", 88, 88, 0, 8.5, 5), S("", 101, 83, 0, 5, 3.2),
            S("", 109, 82, 0, 4.2, 2.6)), color="muzzle"),
        Chain("snout", "head", "head", (S("", 108, 89.5, 0, 10.5, 9.5),), color="muzzle", solid=False),
        Chain("nose", "head", "head", (S("", 117, 91, 0, 3.8, 3),), color="nose", blend=0.3),
        Chain("eye", "head", "head", (S("", 97.5, 102, 7.8, 2.3),), paired=True, color="eye", blend=0.15),
        Chain("ear", "head", "ear", (S("*_ear", 79, 111, 11.5, 5.6, 3.6),
            S("", 78.5, 116, 13, 5.4, 3.2)), paired=True, blend=0.35),
        Chain("tail", "hips", "tail", (S("tail", -59, 80, 0, 6), S("", -66, 77, 0, 4.6)), "tail"),
        Chain("front_leg", "chest", "leg", (
            S("front_*_upper_arm", 42, 70, 16.5, 14, 18), S("", 38, 58, 18.5, 12, 14.5),
            S("front_*_forearm", 34, 46, 19, 10.5, 11.8),
            S("", 37, 31, 19, 9.4, 10), S("front_*_hand", 40, 15, 19, 8.6, 8.8), S("", 42, 9, 19, 9, 8.6),
            S("front_*_toes", 48, 5.6, 19, 9.6, 6.6),
            S("", 55, 4.2, 19, 8.6, 5),
        ), "leg", paired=True),
        Chain("hind_leg", "hips", "leg", (
            S("hind_*_thigh", -40, 68, 16, 15, 22), S("", -36, 54, 18.5, 13, 17), S("hind_*_shin", -31, 40, 19, 10.5, 12.5),
            S("", -38, 27, 19, 9, 9.6), S("hind_*_foot", -44, 12, 19, 8.4, 8.6), S("", -40, 6.2, 19, 8.8, 7),
            S("hind_*_toes", -30, 5, 19, 9.2, 6),
            S("", -21, 4, 19, 8.4, 4.8),
        ), "leg", paired=True),
        Chain("heel", "hind_*_foot", "leg", (S("", -47, 6, 19, 7.4, 7.4),), paired=True),
        *(Chain(f"{leg}_claw_{i}", f"{leg}_*_toes", "leg", (S("", x, 4.5, 19 + dz, 2.2),
            S("", x + 6, 2.4, 19 + dz, 1.6)), paired=True, color="claw", blend=0.2)
          for leg, x in (("front", 60), ("hind", -16)) for i, dz in enumerate((-5.4, 0, 5.4))),
    ),
    palettes=(
        {"coat": "#6b4529", "belly": "#7d5535", "dark": "#4a2e1b", "muzzle": "#b08a62", "nose": "#17110f", "eye": "#100b09",
         "claw": "#2b241f"},
        {"coat": "#2b2523", "belly": "#352e2b", "dark": "#1c1817", "muzzle": "#a57f58", "nose": "#120e0d", "eye": "#0c0908",
         "claw": "#1c1816"},
        {"coat": "#e9e2d2", "belly": "#f1ece0", "dark": "#d5ccb8", "muzzle": "#e2dac8", "nose": "#1a1514", "eye": "#100c0b",
         "claw": "#3a342f"},
        {"coat": "#96683a", "belly": "#ab7c4c", "dark": "#6d4a28", "muzzle": "#c7a276", "nose": "#1b1311", "eye": "#100b09",
         "claw": "#332a23"},
    ),
    markings=(
        Marking("back", "dark", ("spine", "neck"), amount=(0.15, 0.3), chance=0.6),
        Marking("under", "belly", ("spine", "neck", "front_leg", "hind_leg"), amount=(0.25, 0.4)),
    ),
    words="bear grizzly cub panda polar-bear",
)
