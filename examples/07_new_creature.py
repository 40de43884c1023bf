"""A body plan of your own: cross-sections along chains, the right half only. Units here are centimetres."""

import akd

S, Chain = akd.Section, akd.Chain
STOOL = akd.Plan(
    "stool", 0.01,
    chains=(
        Chain("spine", "", "body", (S("seat", -14, 42, 0, 14, 4), S("seat_2", 2, 42, 0, 15, 4),
            S("", 16, 42, 0, 14, 4)), "spine"),
        Chain("front_leg", "seat_2", "leg", (S("front_*_thigh", 12, 39, 11, 4), S("front_*_shin", 13, 20, 12, 3),
            S("front_*_foot", 13, 3, 12, 3), S("", 17, 2, 12, 2.5)), "leg", paired=True),
        Chain("hind_leg", "seat", "leg", (S("hind_*_thigh", -12, 39, 11, 4), S("hind_*_shin", -13, 20, 12, 3),
            S("hind_*_foot", -13, 3, 12, 3), S("", -9, 2, 12, 2.5)), "leg", paired=True),
    ),
    palettes=({"coat": "#8a5a34"}, {"coat": "#c9a26b"}),
)  # fmt: skip

akd.PLANS["stool"] = STOOL
rig = akd.make_character("a stool")
print(f"{rig.name}: {', '.join(limb.name for limb in rig.skeleton.limbs)}")
print("Wrote", akd.save(rig, akd.Motion(rig.skeleton.rest_pose()[None], fps=1.0), "stool.glb", force=True))
