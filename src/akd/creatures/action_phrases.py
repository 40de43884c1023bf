"""Phrases for the actions of captured people and artists' characters: what training captions call them.

``captions.VERBS`` has the motions that our own formulas make; these are the further ones that real clips show. An action that
both know has its phrases here, because real clips show more of it ("sit down" and stay seated, not down and up again).
"""

import string

from akd.creatures.captions import VERBS, Verb, gerund, inflected

REAL_VERBS: dict[str, Verb] = {
    "walk_backward": Verb(("walk backwards", "step backwards", "walk backward", "back away"), (), ("slowly", "carefully")),
    "sidestep": Verb(("step sideways", "walk sideways", "sidestep"), ("shuffle sideways",), ("quickly", "slowly")),
    "march": Verb(("march", "march along", "march like a soldier"), ("parade",), ("proudly", "stiffly")),
    "sneak": Verb(("sneak", "sneak along", "creep along", "walk stealthily"), ("tiptoe away", "prowl", "stalk"), ("quietly",)),
    "limp": Verb(("limp", "limp along", "walk with a limp", "hobble"), ("walk with a hurt leg",), ("painfully", "slowly")),
    "zombie": Verb(("walk like a zombie", "stagger like a zombie", "shamble", "lurch forward"), ("shuffle",), ("slowly",)),
    "drunk_walk": Verb(("stagger drunkenly", "stagger", "stumble along", "walk drunkenly"), ("reel", "totter"), ()),
    "sad_walk": Verb(("walk sadly", "walk with a hanging head", "trudge along", "mope along"), ("drag its feet",), ("slowly",)),
    "happy_walk": Verb(("walk happily", "walk with a bounce", "walk cheerfully"), ("skip along",), ()),
    "swagger_walk": Verb(("swagger", "swagger along", "strut", "walk proudly"), ("sashay",), ("coolly",)),
    "old_walk": Verb(("walk like an old man", "walk with a bent back", "walk frailly"), (), ("slowly",)),
    "tiptoe": Verb(("tiptoe", "walk on tiptoe", "walk on its toes"), (), ("quietly", "carefully")),
    "jumping_jacks": Verb(("do jumping jacks", "do star jumps", "jump with arms and legs spread"), ("exercise",), ("fast",)),
    "sit_down": Verb(
        ("sit down", "sit down on a chair", "take a seat", "lower itself onto a seat"), ("seat itself",), ("slowly",)
    ),
    "sit": Verb(("sit", "sit down", "be seated", "sit on the ground"), (), ("calmly",)),
    "stand_up": Verb(("stand up", "stand up from a seat", "rise from a chair", "get up from a chair"), ("rise",), ("slowly",)),
    "get_up": Verb(("get up", "get up from the ground", "get up from the floor", "stand up from lying"), (), ("slowly",)),
    "lie_down": Verb(("lie down", "lie down on the ground", "lie down to rest"), ("recline",), ("slowly",)),
    "sleep": Verb(("sleep", "lie asleep", "lie on the ground asleep"), ("nap", "rest lying down"), ("quietly",)),
    "fall": Verb(("fall over", "fall down", "fall to the ground", "tumble"), ("slip", "collapse", "trip"), ("suddenly",)),
    "die": Verb(("die", "fall down dead", "collapse and die", "drop dead"), ("be killed", "faint"), ("slowly", "suddenly")),
    "throw": Verb(
        ("throw", "throw a ball", "throw something", "pitch a ball"), ("toss", "hurl", "fling", "cast"), ("far", "hard")
    ),
    "pick_up": Verb(
        ("pick something up", "pick up a box", "bend down to pick something up", "lift something from the ground"),
        ("lift", "grab", "collect"), ("slowly", "carefully"),
    ),
    "climb": Verb(("climb", "climb up", "climb on playground bars"), ("scale",), ("slowly",)),
    "climb_stairs": Verb(("climb steps", "walk up the stairs", "climb the stairs"), (), ("slowly",)),
    "swim": Verb(("swim", "swim along", "swim through the water", "swim forward"), ("dive", "paddle"), ("fast", "calmly")),
    "fly": Verb(("fly", "fly along", "flap its wings", "fly through the air"), ("soar", "glide", "hover", "flutter"), ("high",)),
    "flop": Verb(("flop", "flop on the ground", "wriggle out of water"), ("writhe",), ("helplessly",)),
    "slither": Verb(("slither", "slither along", "crawl like a snake", "slither forward"), ("wind along",), ("silently",)),
    "cartwheel": Verb(("turn a cartwheel", "do a cartwheel", "do cartwheels", "cartwheel"), (), ("quickly",)),
    "flip": Verb(("do a flip", "do a backflip", "do a somersault", "flip backwards"), ("somersault",), ("high",)),
    "handstand": Verb(("stand on its hands", "do a handstand", "walk on its hands"), (), ()),
    "roll": Verb(("roll", "dive and roll", "roll over", "do a roll"), (), ("quickly",)),
    "bow": Verb(("bow", "take a bow", "bow down", "bow politely"), ("curtsey",), ("deeply", "politely")),
    "stretch": Verb(("stretch", "stretch its arms", "stretch and yawn"), ("warm up",), ("slowly",)),
    "yoga": Verb(("do yoga", "practise yoga", "hold a yoga pose"), (), ("slowly", "calmly")),
    "pushup": Verb(("do push-ups", "do a push-up"), (), ()),
    "crawl": Verb(("crawl", "crawl on hands and knees", "crawl along"), (), ("slowly",)),
    "push": Verb(("push", "push a heavy thing", "push a box", "push against a wall"), ("shove",), ("hard",)),
    "pull": Verb(("pull", "pull a heavy thing", "drag a heavy box", "pull a rope"), ("drag", "tug"), ("hard",)),
    "carry": Verb(("carry something", "walk carrying a box", "hold something", "carry a box"), (), ("carefully",)),
    "drink": Verb(("drink", "drink from a cup", "take a drink", "sip coffee"), ("sip",), ("thirstily",)),
    "laugh": Verb(("laugh", "laugh out loud", "shake with laughter"), ("giggle",), ("loudly",)),
    "cry": Verb(("cry", "cry and wipe its eyes", "weep"), ("sob",), ("sadly",)),
    "duck": Verb(("duck", "duck down", "duck under something", "crouch down"), ("dodge",), ("quickly",)),
    "sweep": Verb(("sweep the floor", "sweep", "sweep with a broom"), ("mop",), ()),
    "wash_window": Verb(("wash a window", "clean a window", "wipe a window"), ("polish",), ()),
    "chop_wood": Verb(("chop wood", "swing an axe", "chop with an axe"), ("hew",), ("hard",)),
    "dig": Verb(("dig", "dig a hole", "dig with a shovel"), ("shovel",), ()),
    "hammer": Verb(("hammer", "hammer a nail", "swing a hammer"), ("pound",), ()),
    "shoot": Verb(("shoot", "shoot a gun", "aim and shoot", "fire a gun"), ("aim",), ()),
    "golf_swing": Verb(("swing a golf club", "play golf", "hit a golf ball"), (), ()),
    "bat_swing": Verb(("swing a bat", "hit a ball with a bat", "play baseball"), (), ("hard",)),
    "basketball": Verb(("play basketball", "dribble a ball", "shoot a basket"), ("dribble",), ()),
    "skateboard": Verb(("ride a skateboard", "skateboard", "skate"), ("surf",), ()),
    "martial_arts": Verb(("practise martial arts", "do karate", "do kung fu", "block and strike"), (), ("fast",)),
    "balance": Verb(("balance", "balance on one leg", "walk with arms out for balance"), (), ("carefully",)),
    "handshake": Verb(("shake hands", "reach out for a handshake"), (), ()),
    "play_instrument": Verb(("play an instrument", "play the drums", "play the piano", "play music"), ("drum",), ()),
    "sword": Verb(("swing a sword", "slash with a sword", "fight with a sword", "stab"), ("slash", "fence"), ("fast", "hard")),
    "attack": Verb(("attack", "attack forward", "strike at an enemy", "lunge forward"), ("assault",), ("fiercely", "suddenly")),
    "bite": Verb(("bite", "snap", "bite at something", "snap its jaws"), ("chomp",), ("fiercely",)),
    "headbutt": Verb(("headbutt", "ram with its head", "butt"), (), ("hard",)),
    "howl": Verb(("howl", "howl at the moon", "bark"), ("roar",), ("loudly",)),
    "hit": Verb(("be hit", "get hit", "flinch from a hit", "stagger back from a hit"), ("recoil", "flinch"), ()),
    "nod": Verb(("nod", "nod its head", "shake its head"), (), ()),
    "clap": Verb(("clap", "clap its hands", "applaud"), (), ("loudly",)),
    "animal_monkey": Verb(("act like a monkey", "move like a monkey", "imitate a monkey"), (), ()),
    "animal_chicken": Verb(("act like a chicken", "move like a chicken", "imitate a chicken"), (), ()),
    "animal_bear": Verb(("act like a bear", "move like a bear", "imitate a bear"), (), ()),
    "animal_dog": Verb(("act like a dog", "walk on all fours like a dog", "imitate a dog"), (), ()),
    "animal_cat": Verb(("act like a cat", "move like a cat", "imitate a cat"), (), ()),
    "animal_snake": Verb(("act like a snake", "writhe like a snake", "imitate a snake"), (), ()),
    "animal_bird": Verb(("act like a bird", "flap its arms like a bird", "imitate a bird"), (), ()),
    "animal_penguin": Verb(("act like a penguin", "waddle like a penguin", "imitate a penguin"), (), ()),
    "animal_elephant": Verb(("act like an elephant", "move like an elephant", "imitate an elephant"), (), ()),
    "animal_trex": Verb(("act like a tyrannosaurus", "stomp like a dinosaur", "imitate a dinosaur"), (), ()),
    "animal_mouse": Verb(("act like a mouse", "scurry like a mouse", "imitate a mouse"), (), ()),
    "animal_fish": Verb(("act like a fish", "move like a fish", "imitate a fish"), (), ()),
    "animal_horse": Verb(("act like a horse", "prance like a horse", "imitate a horse"), (), ()),
}  # fmt: skip
"""Actions of real clips that our formulas do not make, or make otherwise."""
ACTION_VERBS: dict[str, Verb] = VERBS | REAL_VERBS
"""Phrases of every action that a caption can name."""
HAND_ACTIONS = frozenset((
    "wave_hand", "punch", "throw", "pick_up", "shoot", "sword", "drink", "eat", "hammer", "attack", "handshake", "wash_window",
))  # fmt: skip
"""Actions of which a caption may say with which hand."""
FOOT_ACTIONS = frozenset(("kick", "hop", "balance"))
"""Actions of which a caption may say with which foot."""


def phrase_words(verb: Verb) -> set[str]:
    """Every word of an action's phrases, verbs in all forms."""
    phrases = [form for phrase in (*verb.phrases, *verb.requests) for form in (*inflected(phrase), gerund(phrase))]
    words = {word.strip(string.punctuation).lower() for phrase in (*phrases, *verb.manners) for word in phrase.split()}
    return {word for word in words if word}
