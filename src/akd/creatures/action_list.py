"""The actions a sentence can ask for: how each is said, and the WordNet senses whose kinds it covers.

Data for three uses: ``sentence`` finds an action by these phrases, ``experiments.word_table`` derives the shipped word knowledge
from them, and the card of a prior (``training.json``) names the ones its weights have seen.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class ActionWords:
    """How one action is said."""

    phrases: tuple[str, ...]
    """In the infinitive, the plainest first; the first word is the verb."""
    senses: tuple[str, ...] = ()
    """WordNet verb senses ("walk.1"): their lemmas and those of their kinds (troponyms) mean this action."""
    motion: str = ""
    """The motion of ``captions.VERBS`` that is this action, where our formulas have one."""
    manner: str = ""
    """For a manner of another action: the manner's word, and"""
    of: str = ""
    """the action it is a manner of."""


def _said(text: str, senses: str = "", motion: str = "", manner: str = "", of: str = "") -> ActionWords:
    return ActionWords(tuple(part.strip() for part in text.split(",")), tuple(senses.split()), motion, manner, of)


ACTION_LIST: dict[str, ActionWords] = {
    "walk": _said("walk, stroll, take a walk, go on foot, stride, pace up and down", "walk.1 walk.8", "walk"),
    "run": _said("run, sprint, jog, dash, race, rush, flee on foot", "run.1 run.2 rush.1 scurry.1", "run"),
    "trot": _said("trot, go at a trot", "", "trot"),
    "pace": _said("pace like a horse, go at a pace", "pace.2", "pace"),
    "canter": _said("canter, go at a canter", "canter.1 canter.3", "canter"),
    "gallop": _said("gallop, go at a gallop", "gallop.2", "gallop"),
    "bound": _said("bound along, run in great leaps", "", "bound"),
    "jump": _said("jump, leap, jump into the air, spring up, jump over an obstacle", "jump.1 jump.8", "jump"),
    "hop": _said("hop, skip, hop on both feet, bounce along", "hop.1", "hop"),
    "kick": _said("kick, kick a ball, kick high with the leg, karate kick", "kick.1 kick.2 kick.3 kick.4", "kick"),
    "punch": _said("punch, throw punches, box, hit with the fist", "punch.1 box.2 box.3 slug.1", "punch"),
    "wave": _said("wave, wave a hand, wave hello, wave goodbye, greet with a raised hand", "wave.1 greet.1", "wave_hand"),
    "sit_down": _said("sit down, sit, take a seat, sit on a chair", "sit.3 sit.1", "sit"),
    "stand_up": _said("stand up, rise from a chair, rise to the feet, get to the feet", "get_up.1"),
    "get_up": _said("get up from the ground, get back on the feet, get up after lying down, get up", "get_up.2"),
    "dance": _said("dance, dance to music, dance ballet, dance hip hop, groove", "dance.1 dance.2 dance.3", "dance"),
    "twist": _said("twist the hips, dance the twist", "twist.7", "twist"),
    "disco": _said("dance disco, dance to disco music", "", "disco"),
    "throw": _said("throw, throw a ball, toss, hurl, pitch", "throw.1"),
    "pick_up": _said(
        "pick up, pick something up from the ground, lift an object from the floor, bend down to grab", "pick_up.1 pick_up.2"
    ),
    "fall": _said(
        "fall, fall down, fall over, trip and fall, "
        "collapse to the ground", "fall.23 fall.24 topple.1 collapse.2 stumble.1 tumble.1"
    ),
    "death": _said("die, drop dead, get killed, die and fall to the ground", "die.1 die.2"),
    "bow": _said("bow, take a bow, bow to the audience, bow down", "bow.1 bow.3 curtsy.1"),
    "turn": _said("turn around, turn in place, spin on the spot, rotate", "turn.9 whirl.1 spin.1 pivot.1", "turn"),
    "crouch": _said("crouch, crouch down, squat, kneel", "crouch.1 crouch.2 kneel.1 cower.1", "crouch"),
    "limp": _said("limp, walk with an injured leg, hobble", "limp.1"),
    "sneak": _said("sneak, walk stealthily, creep up, move without being seen", "sneak.1 prowl.1 stalk.1"),
    "march": _said("march, march like a soldier, goose-step", "march.1 march.3 goose_step.1"),
    "tiptoe": _said("tiptoe, walk on tiptoe, walk on the toes", "tiptoe.1"),
    "walk_backward": _said("walk backwards, walk backward, back away, step back, back up", "back_up.2"),
    "sidestep": _said("sidestep, step sideways, walk sideways, move to the side", "sidle.1"),
    "zombie_walk": _said("walk like a zombie, shamble like the undead", "", "", "zombie", "walk"),
    "drunk_walk": _said("walk drunkenly, stagger like a drunk, walk like a drunk", "stagger.1", "", "drunk", "walk"),
    "sad_walk": _said("walk sadly, walk with a hanging head", "", "", "sad", "walk"),
    "happy_walk": _said("walk happily, walk cheerfully, walk with a bouncy step", "", "", "happy", "walk"),
    "swagger_walk": _said("swagger, strut, walk with swagger, walk proudly", "strut.1", "", "swagger", "walk"),
    "old_walk": _said("walk like an old person, walk with a cane, shuffle like an old man", "", "", "old", "walk"),
    "jumping_jacks": _said("do jumping jacks, do star jumps"),
    "cartwheel": _said("cartwheel, do a cartwheel, turn cartwheels", "cartwheel.1"),
    "flip": _said("do a flip, do a backflip, somersault, do a somersault in the air", "somersault.1"),
    "handstand": _said("do a handstand, stand on the hands, balance upside down on the hands"),
    "stretch": _said("stretch, stretch the arms and legs, warm up before sport", "stretch.2 stretch.11 limber_up.2"),
    "yoga": _said("do yoga, hold a yoga pose, practise yoga"),
    "crawl": _said("crawl, crawl on hands and knees, go on all fours", "crawl.1"),
    "roll": _said("roll, roll on the ground, do a forward roll, roll over", "roll.1"),
    "push": _said("push, push a heavy object, shove", "push.1 push.5 shove.1"),
    "pull": _said("pull, pull a rope, drag, tug", "pull.1 pull.4 drag.1"),
    "carry": _said("carry, carry a box, carry something heavy in the arms", "carry.1 carry.2 lug.1"),
    "drink": _said("drink, drink from a cup, take a sip", "drink.1 drink.2"),
    "eat": _said("eat, eat food, graze, feed, chew", "eat.1 eat.2 eat.3 graze.1 chew.1 browse.2", "eat"),
    "laugh": _said("laugh, laugh out loud, giggle", "laugh.1"),
    "cry": _said("cry, weep, sob, cry with tears", "cry.2"),
    "look_around": _said(
        "look around, look left and right, survey the surroundings, "
        "turn the head to look", "look.1 peer.1 scan.1 survey.2", "look"
    ),
    "idle": _said(
        "stand still, wait, idle, do nothing, stay motionless, stand and breathe", "wait.1 rest.1 stand.1 stand.7", "idle"
    ),
    "duck": _said("duck, dodge, duck under something, dodge an attack", "duck.1 dodge.1"),
    "sweep": _said("sweep the floor, sweep with a broom", "sweep.3 sweep.6"),
    "chop_wood": _said("chop wood, split logs with an axe, chop down a tree", "chop.5 fell.1"),
    "dig": _said("dig, dig a hole, shovel earth", "dig.1 dig.2 shovel.1"),
    "hammer": _said("hammer, hammer a nail, pound with a hammer", "hammer.1 hammer.2"),
    "shoot": _said("shoot, shoot a gun, fire a weapon, shoot an arrow, aim and fire", "shoot.1 shoot.3 fire.1"),
    "golf_swing": _said("swing a golf club, play golf, hit a golf ball", "golf.1 putt.1 putt.2"),
    "bat_swing": _said("swing a bat, swing a baseball bat, play baseball, hit a baseball", "bat.1 bat.4"),
    "basketball": _said("play basketball, dribble a ball, shoot a basketball", "dribble.3 dunk.2"),
    "swim": _said("swim, swim through water, swim the crawl", "swim.1 paddle.3", "swim"),
    "climb": _said("climb, climb a ladder, climb up a wall, climb stairs", "climb.1 climb.2"),
    "martial_arts": _said("practise martial arts, do karate, do kung fu, do tai chi"),
    "play_instrument": _said(
        "play an instrument, play the guitar, play the violin, play the piano, "
        "play the drums", "play.3 play.7 strum.1 fiddle.3 fiddle.4"
    ),
    "sword_attack": _said("attack with a sword, swing a sword, fence, slash with a blade", "fence.3 slash.1"),
    "attack": _said("attack, attack an enemy, lunge at prey, strike at an enemy", "attack.1 attack.3 assail.1 pounce.1 lunge.1"),
    "bite": _said("bite, snap with the jaws, bite prey", "bite.1 snap.12"),
    "headbutt": _said("headbutt, butt with the head, ram with the horns", "butt.2 ram.1"),
    "howl": _said("howl, howl at the moon", "howl.1 howl.2 bay.2"),
    "hit": _said("get hit, react to a hit, flinch, take a blow", "flinch.1"),
    "fly": _said("fly, fly through the air, flap the wings, soar, glide", "fly.1 soar.1 flap.1 flutter.3", "fly"),
    "flop": _said("flop, flop about on the ground like a fish out of water", "flop.1 flop.2"),
    "slither": _said("slither, slither like a snake, wind along the ground", "slither.1 wriggle.1", "slither"),
    "sleep": _said("sleep, lie asleep, fall asleep, take a nap", "sleep.1 nap.1 fall_asleep.1"),
    "lie_down": _said("lie down, lie on the ground, lie on the back, recline", "lie_down.1 recline.1"),
    "nod": _said("nod, nod the head, nod yes", "nod.1 nod.2"),
    "clap": _said("clap, clap hands, applaud", "clap.3 clap.4"),
    "drive": _said("drive, drive a car, steer a vehicle", "drive.1 drive.2 steer.1"),
}  # fmt: skip
"""Every action by name; an entry of more exact meaning wins over the plain one it is a kind of."""
FIRST_EDITION = (
    "walk", "run", "trot", "pace", "canter", "gallop", "bound", "jump", "hop", "kick", "punch", "wave", "sit_down", "dance",
    "twist", "disco", "turn", "crouch", "eat", "look_around", "idle",
)  # fmt: skip
"""What a prior of ours knows whose card does not list its actions."""
MOTION_ACTIONS = {words.motion: name for name, words in ACTION_LIST.items() if words.motion}
"""The action of each motion of ``captions.VERBS`` that is one by itself."""
