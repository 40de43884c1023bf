"""People and what is built like them."""

from akd.creatures.plan import Chain, Plan
from akd.creatures.plan import Section as S

HUMAN = Plan(
    "human", 0.01,
    chains=(
        Chain("spine", "", "body", (
            S("", 0, 88, 0, 13, 9), S("hips", 0, 95, 0, 15.5, 10.5), S("spine_1", 0.5, 106, 0, 13.5, 9.5, "shirt"),
            S("spine_2", 0.5, 117, 0, 14, 10), S("chest", 0, 128, 0, 16, 11), S("", -0.5, 139, 0, 15, 8.5),
            S("", -0.5, 144, 0, 8, 6),
        ), "spine", color="trousers"),
        Chain("neck", "chest", "neck", (S("neck", -1, 145, 0, 5.6, 5.6), S("", 0.5, 152, 0, 5.2, 5.4)), "neck", color="skin"),
        Chain("head", "neck", "head", (
            S("head", 1, 154, 0, 6, 7), S("", 2, 160, 0, 7.4, 9), S("", 1, 167, 0, 7.8, 9.6), S("", 0.5, 170, 0, 6.5, 8.2),
        ), "head", color="skin"),
        Chain("nose", "head", "head", (S("", 10.6, 163.5, 0, 1.1, 1.6), S("", 12, 160.5, 0, 1.5, 1.4)), color="skin", blend=0.5),
        Chain("ear", "head", "head", (S("", 0, 162, 7.4, 1.2, 2.4),), paired=True, color="skin", blend=0.4),
        Chain("hair", "head", "head", (
            S("", -1.2, 163, 0, 8, 9), S("", -1.2, 169.5, 0, 8.2, 10.2), S("", -1, 172.5, 0, 6.5, 8),
        ), color="hair", blend=0.15),
        Chain("eye", "head", "head", (S("", 10.3, 164.8, 3.1, 1.4),), paired=True, color="eye", blend=0.1),
        Chain("mouth", "head", "head", (S("", 10.6, 156.6, 0, 2.6, 1.1),), color="lips", flesh=False),
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
        {"skin": "#e6b08c", "hair": "#4a2f1d", "shirt": "#c8473c", "trousers": "#34466e", "shoes": "#2b2523",
         "eye": "#20140f", "lips": "#b8604f"},
        {"skin": "#8d5a3a", "hair": "#17110f", "shirt": "#e0a32e", "trousers": "#4d5a3a", "shoes": "#7a4a2c",
         "eye": "#120b08", "lips": "#7a3d33"},
        {"skin": "#f0c6a4", "hair": "#c99a4b", "shirt": "#3f86b8", "trousers": "#3a3a40", "shoes": "#e5e2da",
         "eye": "#2b3a4a", "lips": "#c87468"},
        {"skin": "#c68a5e", "hair": "#231815", "shirt": "#5f9a63", "trousers": "#8a7a5c", "shoes": "#3b2a22",
         "eye": "#1a100c", "lips": "#a2574b"},
    ),
    traits={"leg": 0.06, "body": 0.06, "neck": 0.06, "head": 0.05, "girth": 0.14, "size": 0.1},
    main_color="shirt",
)
