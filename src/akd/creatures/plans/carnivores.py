"""Paws: dog, fox, cat, bear."""

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
            S("head", 38, 70, 0, 5.5, 5.8), S("", 43, 71.5, 0, 6.5, 6.2), S("", 48, 70, 0, 5, 4.8),
            S("", 53, 68.5, 0, 3.3, 3.2), S("", 58.5, 68, 0, 2.8, 2.6),
        ), "head"),
        Chain("jaw", "head", "head", (
            S("jaw", 45, 67, 0, 3, 2.2), S("", 52, 65.2, 0, 2.4, 1.5), S("", 57, 64.8, 0, 2.0, 1.2),
        ), color="belly"),
        Chain("nose", "head", "head", (S("", 60.8, 69.3, 0, 1.7, 1.4),), color="nose", blend=0.3),
        Chain("eye", "head", "head", (S("", 48.8, 73.2, 3.6, 1.35),), paired=True, color="eye", blend=0.2),
        Chain("ear", "head", "ear", (
            S("*_ear", 41, 75.5, 4.2, 2.6, 1.6), S("", 40, 79.5, 5.4, 2.4, 1.1), S("", 40.5, 83.5, 6, 1.0, 0.8),
        ), paired=True, color="dark"),
        Chain("tail", "hips", "tail", (
            S("tail_1", -30, 53, 0, 2.9), S("tail_2", -37, 54, 0, 2.6), S("tail_3", -44, 57, 0, 2.3),
            S("tail_4", -50, 62, 0, 1.9), S("", -54, 68, 0, 1.2),
        ), "tail", tilt=30),
        Chain("front_leg", "chest", "leg", (
            S("front_*_upper_arm", 21, 42, 6.5, 4.2, 6.5), S("", 17, 35, 7.3, 3.4, 4.6), S("front_*_forearm", 14, 29, 7.4, 2.7, 3.3),
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
)
