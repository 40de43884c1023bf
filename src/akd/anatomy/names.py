"""What a bone's name hints at. Names are never trusted alone: artists write in many languages and make mistakes."""

import re

WORDS = {
    "head": "head|skull|face|kopf|tete|cabeza",
    "front": "head|skull|face|nose|jaw|mouth|snout|beak|muzzle|eye|toe",
    "tail": "tail|schwanz|cola",
    "leg": "leg|thigh|shin|calf|knee|foot|feet|toe|hoof|paw|ankle|femur|tibia|tarsus",
    "arm": "arm|hand|finger|thumb|palm|elbow|wrist|clavicle|ulna|humerus",
    "wing": "wing|feather",
}


def says(name: str, word: str) -> bool:
    """Does the name contain one of the words for this idea?"""
    return re.search(WORDS[word], name.lower()) is not None


def side_of(name: str) -> str | None:
    """ "L" or "R" where the name says so: LeftArm, arm.L, arm_l, L_Arm, lThigh, "Bip01 R Foot"."""
    if found := re.search(r"(left|right)", name, re.IGNORECASE):
        return found.group(1)[0].upper()
    if found := re.search(r"(?:^|[^A-Za-z])([LlRr])(?:[^A-Za-z]|$)", name):
        return found.group(1).upper()
    if found := re.match(r"([lr])(?=[A-Z])", name):
        return found.group(1).upper()
    return None
