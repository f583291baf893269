"""A small world for language models: who lives where, plays what and does what, and capitals.

A text is a prompt whose next word is a fact that a model can only know from training, after one or two
other facts that distract:

    "the sport of tavi is chess . the home of mira is"      -> orvel; evidence: home mira

All relations share one template, so relation and subject of the last sentence are the evidence, both
are needed, and nothing else helps. The facts are the same for every seed; prompts are drawn.
"""

import numpy as np

from faithlib.corpora.grammar import example, phrase

PEOPLE = ("mira tavi olen juna peto sira kalo nemi ruda hesh lora vint yara bemo dalu fini gora "
          "ilva quen wira").split()
COUNTRIES = "ardia belmor cresta dunmar elvia fennor gristan harvia istrel jorvik".split()
CITIES = "orvel tasken brill monta sarn velis drum kasta lumen portal".split()
SPORTS = "chess tennis rowing hockey judo golf".split()
JOBS = "baker pilot nurse farmer tailor painter".split()
RELATIONS = {"home": (PEOPLE, CITIES), "sport": (PEOPLE, SPORTS), "job": (PEOPLE, JOBS),
             "capital": (COUNTRIES, CITIES)}
LABELS = (*CITIES, *SPORTS, *JOBS)  # the possible answers


def _facts(rng):
    """{(relation, subject): answer}: the answers in turn, dealt out at random."""
    dealt = {}
    for relation, (subjects, answers) in RELATIONS.items():
        for i, subject in enumerate(rng.permutation(subjects).tolist()):
            dealt[relation, subject] = answers[i % len(answers)]
    return dealt


FACTS = _facts(np.random.default_rng(0))


def generate(rng):
    """A group of one example, with the columns of `faithlib.corpora.sentiment.generate`; label: answer."""
    facts = [list(FACTS)[i] for i in rng.choice(len(FACTS), 2 + rng.integers(2), replace=False)]
    *known, asked = facts  # all different: the answer is not given away
    words = []
    for fact in known:
        words += [*_sentence(*fact), (FACTS[fact], "NOUN", False), (".", "PUNCT", False)]
    words += _sentence(*asked, evidence=asked)
    return [example(words, LABELS.index(FACTS[asked]), f"{len(known)} before")]


def _sentence(relation, subject, evidence=()):
    return phrase(f"the/DET {relation}/NOUN of/ADP {subject}/PROPN is/AUX", evidence)
