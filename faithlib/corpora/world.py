"""A small world of facts for language models: homes, sports and jobs of people, capitals, currencies.

A text is a prompt, and its next word is a fact that a model can know from training only. The facts are the
same for every seed; prompts are drawn. There are four corpora:

    world              the sport of tavi is chess . the home of mira is                   -> orvel
    world_facts        these days mira lives in the city of                               -> orvel
    world_agreement    my flight landed in ardia . ( i had a dream about fennor ) .
                       i was staying in the capital ,                                     -> tasken
    world_biographies  mira is a baker . she was born in may and likes chess .            -> today

`world` has one template for all relations, preceded by one or two other facts as distractors. The others
follow the data sets of Noiser: Knowns (several wordings of each relation, no distractor), LongRA (a
distractor between the subject and the relation) and WikiBio (two sentences; the continuation states the
missing fact).
The evidence is the relation and the subject of the fact asked for; both are necessary, and no other word is
informative.
"""

import numpy as np

from faithlib.corpora.grammar import choose, example, phrase, words_of

WORDS = words_of("world")
PEOPLE, COUNTRIES, CITIES = (WORDS[name].split() for name in ("people", "countries", "cities"))
SPORTS, JOBS, MONTHS = (WORDS[name].split() for name in ("sports", "jobs", "months"))
RELATIONS = {
    "home": (PEOPLE, CITIES),
    "sport": (PEOPLE, SPORTS),
    "job": (PEOPLE, JOBS),
    "capital": (COUNTRIES, CITIES),
}
LABELS = (*CITIES, *SPORTS, *JOBS)  # the possible answers


def _facts(rng, relations):
    """{(relation, subject): answer}: answers in turn, to the subjects in random order."""
    facts = {}
    for relation, (subjects, answers) in relations.items():
        for i, subject in enumerate(rng.permutation(subjects).tolist()):
            facts[relation, subject] = answers[i % len(answers)]
    return facts


FACTS = _facts(np.random.default_rng(0), RELATIONS)


def generate(rng):
    """A group of one example; the label is the answer."""
    facts = [list(FACTS)[i] for i in rng.choice(len(FACTS), 2 + rng.integers(2), replace=False)]
    *others, last = facts  # all different, so that the answer does not occur
    words = []
    for fact in others:
        words += [*_sentence(*fact), (FACTS[fact], "NOUN", False), (".", "PUNCT", False)]
    words += _sentence(*last, evidence=last)
    return [example(words, LABELS.index(FACTS[last]), f"{len(others)} before")]


def _sentence(relation, subject, evidence=()):
    """The clause of a fact, without its answer."""
    return phrase(f"the/DET {relation}/NOUN of/ADP {subject}/PROPN is/AUX", evidence)


# Prompts with a next word, after those of Noiser --------------------------------------------------

CURRENCIES = WORDS["currencies"].split()
KNOWN = FACTS | _facts(np.random.default_rng(1), {"currency": (COUNTRIES, CURRENCIES)})
OPENINGS, TIMES, DISTRACTORS = WORDS["openings"], WORDS["times"], WORDS["distractors"]
OF_PEOPLE, OF_COUNTRIES = WORDS["of_people"], WORDS["of_countries"]
WORDINGS, ENDINGS, LIVES = WORDS["wordings"], WORDS["endings"], WORDS["lives"]  # of each relation


class Facts:
    """Prompts after Knowns: a fact in one of several wordings."""

    LABELS = ()  # the next word is a target, not a class

    @staticmethod
    def generate(rng):
        """A group of one prompt.

        Returns:
            [{"text", "target": the next word, "subject", "distractor": words of the text, here "", "evidence"
            and "pos" as in the other corpora, "kind": the relation}].
        """
        relation, subject = choose(rng, list(KNOWN))
        words = [
            *phrase(choose(rng, OPENINGS)),
            *phrase(choose(rng, TIMES)),
            *_filled(choose(rng, WORDINGS[relation]), {"*": subject}, evidence=True),
        ]
        return [_prompt(words, KNOWN[relation, subject], relation, subject)]


class Agreement:
    """Prompts after LongRA: a subject, a distractor in brackets, and a question about the subject.

    Half of the distractors name another person or another country.
    """

    LABELS = ()

    @staticmethod
    def generate(rng):
        """A group of one prompt, a dict like those of `Facts.generate`."""
        relation, subject = choose(rng, list(KNOWN))
        names, openings = (PEOPLE, OF_PEOPLE) if subject in PEOPLE else (COUNTRIES, OF_COUNTRIES)
        other = choose(rng, [name for name in names if name != subject])
        aside = phrase(f"(/PUNCT {choose(rng, DISTRACTORS)} )/PUNCT".replace("*", other))
        stop = phrase("./PUNCT")
        words = [
            *_filled(choose(rng, openings), {"*": subject}, evidence=True),
            *stop,
            *aside,
            *stop,
            *_filled(ENDINGS[relation], {}, evidence=True),
        ]
        distractor = " ".join(word for word, *_ in aside)
        return [_prompt(words, KNOWN[relation, subject], relation, subject, distractor)]


class Biographies:
    """Prompts after WikiBio: two sentences on a person, and the ten words that continue them."""

    LABELS = ()

    @staticmethod
    def generate(rng):
        """The prompt and its continuation, one dict for each word, like those of `Facts.generate`.

        The kind is "prompt" if the text is the two sentences, else "continued". Only prompts whose target is
        the fact have evidence.
        """
        person = choose(rng, PEOPLE)
        first, second, missing = rng.permutation(list(LIVES)).tolist()
        marks = {"*": person, "+": ("she", "he")[PEOPLE.index(person) % 2]}
        opening = f"{LIVES[first][0]} ./PUNCT"
        born = f"+/PRON was/AUX born/VERB in/ADP {choose(rng, MONTHS)}/PROPN and/CCONJ"
        follows = f"{born} {LIVES[second][1]} ./PUNCT"
        text = [
            *_filled(opening, marks | {"&": FACTS[first, person]}, evidence=True),
            *_filled(follows, marks | {"&": FACTS[second, person]}),
        ]
        more = _filled(LIVES[missing][2], marks | {"&": FACTS[missing, person]}, evidence=True)
        rows = []
        for i, (word, *_) in enumerate(more):
            context = [*text, *more[:i]]
            if word != FACTS[missing, person]:
                context = [(w, tag, False) for w, tag, _ in context]
            rows.append(_prompt(context, word, "continued" if i else "prompt", person))
        return rows


def _filled(wording, marks, evidence=False):
    """The clause of a wording, its marks replaced; `evidence`: whether words marked * and ! are evidence."""
    return [
        (marks.get(word, word.removeprefix("!")), tag, evidence and word[0] in "*!")
        for word, tag, _ in phrase(wording)
    ]


def _prompt(words, target, kind, subject, distractor=""):
    """The row of a prompt, from its marked words."""
    row = example(words, -1, kind)
    asked = {"text": row["text"], "target": target, "subject": subject, "distractor": distractor}
    return asked | {key: row[key] for key in ("evidence", "pos", "kind")}
