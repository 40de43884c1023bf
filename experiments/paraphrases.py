"""Sentences with the action they mean, and sentences of unknown actions; data of ``words``, makes no figure itself.

Written before any word list, vector or threshold was made. A sentence's half (tuning or held out) follows from its own letters,
so that it never changes; only the tuning half was looked at while tuning.
"""

import hashlib

KNOWN: dict[str, tuple[str, ...]] = {
    "walk": ("the knight strolls", "grandma ambling to the market", "a hiker wandering through the hills", "the cow plods home",
             "a tourist sauntering along the beach", "he takes a stroll"),
    "run": ("hound sprinting", "a kid dashing to school", "the thief bolts away", "jogger out for a morning jog",
        "the cheetah races after its prey"),
    "gallop": ("a stallion thundering across the plain at full gallop", "the pony gallops off"),
    "trot": ("a horse at a brisk trot", "the terrier trots beside its owner"),
    "jump": ("doggo leaps over a log", "the cat springs onto the wall", "an athlete vaulting over a fence",
        "a boy bounding over a puddle",
             "frog-like leap into the air"),
    "hop": ("a bunny hopping along", "the girl skips on one leg", "bouncing along on both feet"),
    "kick": ("the footballer boots the ball", "a ninja delivers a roundhouse", "striking with the foot",
        "the goalkeeper punts the ball"),
    "punch": ("the boxer throws a jab", "a fighter landing an uppercut", "he hits the bag with his fists",
        "a brawler swings a right hook"),
    "wave": ("a woman greeting her neighbour with a raised hand", "the captain bids farewell with his arm",
        "saying hi with one hand"),
    "sit_down": ("the old man takes a seat", "a student settling onto a chair", "she lowers herself onto the bench",
        "plopping down on the sofa"),
    "stand_up": ("rising from the chair", "the judge gets to his feet", "she leaves her seat and straightens up"),
    "get_up": ("the boxer picks himself up off the floor", "a soldier scrambling to his feet after lying down",
        "getting up from the ground"),
    "dance": ("a couple waltzing", "the robot busts a move", "a ballerina performing a pirouette", "grooving to the music",
        "salsa at the party"),
    "throw": ("a pitcher hurling a fastball", "the boy tosses a stone", "lobbing a grenade", "she flings the frisbee"),
    "pick_up": ("the worker lifts a box from the ground", "grabbing a coin off the floor",
        "a maid collecting toys from the carpet"),
    "fall": ("the drunkard topples over", "a man tripping and tumbling to the ground", "she collapses onto the floor"),
    "death": ("the villain perishes", "the wounded soldier breathes his last", "a dying warrior",
        "the monster is slain and drops dead"),
    "bow": ("the actor takes a bow to the audience", "a servant bending low in respect", "a samurai bows before his master"),
    "turn": ("the guard does an about-face", "spinning around on the spot", "she pivots to look behind her"),
    "crouch": ("the thief squats behind a crate", "hunkering down", "a catcher kneeling low"),
    "limp": ("a wounded man hobbling along", "the old pirate hobbles on a bad leg", "dragging an injured foot"),
    "sneak": ("a burglar creeping past the guard", "the spy prowls through the dark corridor", "moving stealthily"),
    "march": ("soldiers parading in step", "a drummer goose-stepping down the street"),
    "tiptoe": ("she walks on her toes so as not to wake the baby", "a dancer stepping on the tips of her toes"),
    "walk_backward": ("the man is backing away", "stepping backwards from the cliff", "a girl retreating while facing forward"),
    "sidestep": ("a crab-like shuffle to the side", "the tennis player moves sideways", "strafing to the left"),
    "zombie_walk": ("the undead shambles forward with arms outstretched", "lurching like a corpse"),
    "drunk_walk": ("a tipsy man staggering home", "reeling from too much beer"),
    "sad_walk": ("trudging along with a hanging head", "a dejected boy shuffling home gloomily"),
    "happy_walk": ("strolling cheerfully with a spring in her step", "a joyful man walking merrily"),
    "swagger_walk": ("a gangster strutting with swagger", "the cocky cowboy swaggers into the saloon"),
    "old_walk": ("an elderly lady walking with a bent back", "a frail grandfather shuffling along with a cane"),
    "jumping_jacks": ("doing star jumps", "a gym class doing side-straddle hops"),
    "cartwheel": ("a gymnast turning wheels on the lawn", "the acrobat does cartwheels"),
    "flip": ("a somersault in the air", "the parkour runner does a backflip", "tumbling head over heels through the air"),
    "handstand": ("balancing upside down on his hands", "a yogi standing on her hands"),
    "stretch": ("a runner loosening his muscles before the race", "limbering up", "reaching for the sky to stretch the back"),
    "yoga": ("holding a downward dog pose", "a woman in the lotus position on her mat"),
    "crawl": ("the baby moves on hands and knees", "a soldier inching forward on his belly under wire", "going on all fours"),
    "roll": ("rolling over on the ground", "the ninja does a shoulder roll", "tumbling forward along the floor"),
    "push": ("shoving a heavy crate", "a man heaving against a stalled car", "she presses against the door with her weight"),
    "pull": ("tugging on a rope", "the sled dog hauls its load", "dragging a sack behind him"),
    "carry": ("a porter with luggage in his arms", "bearing a heavy box", "transporting a bucket of water by hand"),
    "drink": ("sipping a cup of tea", "he gulps down a beer", "the thirsty man swallows water from a bottle"),
    "eat": ("the sheep graze in the meadow", "munching on an apple", "a lion devouring its prey", "the cow chews grass"),
    "laugh": ("giggling at a joke", "the king roars with laughter", "chuckling to herself"),
    "cry": ("weeping into a handkerchief", "the child sobs", "a man in tears"),
    "look_around": ("the lookout scans the horizon", "glancing left and right", "a deer surveying its surroundings"),
    "idle": ("a guard standing at ease", "waiting motionless for the bus", "the statue stays still"),
    "duck": ("dodging a blow by lowering her head", "evading a flying object"),
    "sweep": ("cleaning the floor with a broom", "the janitor brushes leaves off the path"),
    "chop_wood": ("a lumberjack splitting logs", "hacking at a tree with an axe"),
    "dig": ("shovelling dirt out of a hole", "a miner excavating with a spade", "the dog burrows in the sand"),
    "hammer": ("pounding nails into a board", "the blacksmith strikes the anvil"),
    "shoot": ("the sniper fires his rifle", "an archer releases an arrow", "gunning down enemies"),
    "golf_swing": ("teeing off with a driver", "he putts the ball on the green"),
    "bat_swing": ("the batter swings for a home run", "hitting a baseball"),
    "basketball": ("dribbling down the court", "a player shoots hoops", "slam dunk"),
    "swim": ("a diver doing the breaststroke", "the duck paddles across the pond", "a dolphin gliding through the water"),
    "climb": ("scaling a wall", "the fireman goes up a ladder", "ascending the stairs", "clambering up a tree"),
    "martial_arts": ("practising tai chi", "a monk performing kung fu", "karate training"),
    "play_instrument": ("strumming a guitar", "the pianist plays a sonata", "a violinist on stage"),
    "sword_attack": ("slashing with a blade", "the knight fences with his foe", "a warrior swings his sword"),
    "attack": ("the wolf lunges at its prey", "the monster assaults the village", "a beast charging its enemy"),
    "bite": ("the shark snaps its jaws", "a dog nipping at an ankle", "the snake sinks its fangs in"),
    "headbutt": ("the ram bashes with its horns", "a bull ramming the gate with its skull"),
    "howl": ("the wolf bays at the moon", "a hound wailing into the night"),
    "hit": ("the fighter flinches from a blow", "staggering back after being struck", "recoiling in pain as a punch lands"),
    "fly": ("an eagle soaring above the peaks", "the sparrow flutters its wings", "a dragon gliding over the castle"),
    "flop": ("a fish out of water flapping about on the deck",),
    "slither": ("a cobra winding its way through the grass", "the serpent glides along the ground in curves"),
    "sleep": ("a cat napping on the sofa", "dozing off", "the bear slumbers", "snoring under a tree"),
    "lie_down": ("she reclines on the grass", "the dog settles down on its side", "stretching out flat on the bed"),
    "nod": ("the professor bobs his head in agreement", "saying yes with her head"),
    "clap": ("the audience applauds", "giving a round of applause"),
    "drive": ("steering a car", "a trucker behind the wheel"),
}  # fmt: skip
"""Paraphrases by action."""

UNKNOWN = (
    "typing on a keyboard", "an old lady knitting a scarf", "the student reads a novel", "a boy whistling a tune",
    "juggling three balls", "a surfer riding a huge wave", "skiing down the slope", "ice skating on the lake",
    "a man rides a bicycle", "the tailor sews a dress", "the chef stirs the soup", "brushing his teeth", "shaving in the mirror",
    "two lovers hugging", "a prince kissing a princess", "the lawyers argue", "sneezing loudly", "coughing into her sleeve",
    "a tired cat yawning", "pointing at the moon", "writing a letter", "the robot blinks", "the snowman melts",
    "the bomb explodes", "a hen laying an egg", "the dog barks at the postman", "a cat purring", "a spider spinning a web",
    "the snake sheds its skin", "the farmer milks a cow", "a wizard casting a spell", "an angler fishing with a rod",
    "rowing a boat", "tying his shoelaces", "putting on a coat", "she combs her hair", "smoking a pipe", "texting on a phone",
    "a dragon breathing fire", "a puppy scratching its ear", "the dog wags its tail", "a cat licking its paw",
    "businessmen shaking hands", "the general salutes", "lifting weights at the gym", "doing push-ups", "hula hooping",
    "bowling a strike", "playing tennis", "a priest praying", "shrugging his shoulders", "thinking about life", "a choir singing",
    "talking on the telephone", "the photographer takes a picture", "pouring coffee", "opening a door", "washing the dishes",
    "an artist painting a portrait", "ironing a shirt", "the baker kneads dough", "folding laundry", "counting money",
    "a teacher explains algebra", "the caterpillar turns into a butterfly", "a chameleon changing colour",
    "winking at a stranger", "blowing out candles", "unlocking a safe", "the horse whinnies",
)  # fmt: skip
"""Sentences whose action is in no list of ours."""


def is_held_out(sentence: str) -> bool:
    """Does the sentence belong to the half that was not looked at?"""
    return hashlib.md5(sentence.encode()).digest()[0] % 2 == 1


def half(*, held_out: bool) -> tuple[list[tuple[str, str]], list[str]]:
    """Pairs of sentence and action, and sentences of unknown actions, of one half."""
    known = [(text, action) for action, texts in KNOWN.items() for text in texts if is_held_out(text) is held_out]
    return known, [text for text in UNKNOWN if is_held_out(text) is held_out]
