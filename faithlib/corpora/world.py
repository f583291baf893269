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

from faithlib.corpora.grammar import choose, example, phrase

PEOPLE = (
    "mira tavi olen juna peto sira kalo nemi ruda hesh lora vint yara bemo dalu fini gora ilva quen wira"
).split()
COUNTRIES = "ardia belmor cresta dunmar elvia fennor gristan harvia istrel jorvik".split()
CITIES = "orvel tasken brill monta sarn velis drum kasta lumen portal".split()
SPORTS = "chess tennis rowing hockey judo golf".split()
JOBS = "baker pilot nurse farmer tailor painter".split()
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
    """A group of one example, a dict like those of `sentiment.generate`; the label is the answer."""
    facts = [list(FACTS)[i] for i in rng.choice(len(FACTS), 2 + rng.integers(2), replace=False)]
    *known, asked = facts  # all different, so that the answer does not occur
    words = []
    for fact in known:
        words += [*_sentence(*fact), (FACTS[fact], "NOUN", False), (".", "PUNCT", False)]
    words += _sentence(*asked, evidence=asked)
    return [example(words, LABELS.index(FACTS[asked]), f"{len(known)} before")]


def _sentence(relation, subject, evidence=()):
    """The clause of a fact, without its answer."""
    return phrase(f"the/DET {relation}/NOUN of/ADP {subject}/PROPN is/AUX", evidence)


# Prompts with a next word, after those of Noiser --------------------------------------------------

CURRENCIES = "korun lirat pesk dram zolt".split()
KNOWN = FACTS | _facts(np.random.default_rng(1), {"currency": (COUNTRIES, CURRENCIES)})
OPENINGS = (
    "",
    "as/SCONJ we/PRON know/VERB ,/PUNCT",
    "we/PRON heard/VERB that/SCONJ",
    "everyone/PRON says/VERB that/SCONJ",
    "the/DET paper/NOUN wrote/VERB that/SCONJ",
    "it/PRON is/AUX said/VERB that/SCONJ",
)
TIMES = (
    "",
    "these/DET days/NOUN",
    "since/ADP spring/NOUN",
    "for/ADP years/NOUN",
    "at/ADP present/NOUN",
    "by/ADP now/ADV",
    "after/ADP all/PRON",
    "of/ADP late/ADJ",
    "once/ADV more/ADV",
)
# Here and below * is the subject, & the answer, and ! marks the word that names the relation.
WORDINGS = {
    "home": (
        "*/PROPN !lives/VERB in/ADP the/DET city/NOUN of/ADP",
        "*/PROPN has/VERB a/DET !home/NOUN in/ADP",
        "the/DET !house/NOUN of/ADP */PROPN is/AUX in/ADP",
    ),
    "sport": (
        "*/PROPN !plays/VERB the/DET game/NOUN of/ADP",
        "the/DET !sport/NOUN of/ADP */PROPN is/AUX",
        "*/PROPN is/AUX a/DET !champion/NOUN of/ADP",
    ),
    "job": (
        "*/PROPN !works/VERB as/ADP a/DET",
        "by/ADP !profession/NOUN */PROPN is/AUX a/DET",
        "*/PROPN was/AUX !hired/VERB as/ADP a/DET",
    ),
    "capital": (
        "the/DET !capital/NOUN of/ADP */PROPN is/AUX",
        "*/PROPN is/AUX !governed/VERB from/ADP",
        "the/DET !ministers/NOUN of/ADP */PROPN meet/VERB in/ADP",
    ),
    "currency": (
        "the/DET !currency/NOUN of/ADP */PROPN is/AUX the/DET",
        "the/DET !money/NOUN of/ADP */PROPN is/AUX the/DET",
        "in/ADP */PROPN one/PRON !pays/VERB by/ADP",
    ),
}
OF_PEOPLE = (
    "i/PRON met/VERB */PROPN by/ADP chance/NOUN",
    "i/PRON took/VERB */PROPN to/ADP the/DET station/NOUN",
    "last/ADJ night/NOUN i/PRON wrote/VERB a/DET letter/NOUN to/ADP */PROPN",
)
OF_COUNTRIES = (
    "my/PRON flight/NOUN landed/VERB in/ADP */PROPN",
    "i/PRON came/VERB to/ADP */PROPN by/ADP train/NOUN",
    "for/ADP a/DET month/NOUN we/PRON travelled/VERB through/ADP */PROPN",
)
DISTRACTORS = (
    "i/PRON had/VERB a/DET dream/NOUN about/ADP */PROPN",
    "*/PROPN had/AUX been/AUX in/ADP the/DET news/NOUN",
    "a/DET postcard/NOUN from/ADP */PROPN had/AUX come/VERB",
    "it/PRON was/AUX late/ADJ and/CCONJ cold/ADJ",
    "my/PRON grandmother/NOUN never/ADV liked/VERB tea/NOUN",
    "that/PRON is/AUX a/DET story/NOUN for/ADP another/DET time/NOUN",
)
ENDINGS = {
    "home": "we/PRON talked/VERB about/ADP the/DET !home/NOUN ,/PUNCT",
    "sport": "we/PRON talked/VERB about/ADP the/DET !sport/NOUN ,/PUNCT",
    "job": "we/PRON talked/VERB about/ADP the/DET !job/NOUN of/ADP a/DET",
    "capital": "i/PRON was/AUX staying/VERB in/ADP the/DET !capital/NOUN ,/PUNCT",
    "currency": "i/PRON paid/VERB in/ADP the/DET !currency/NOUN ,/PUNCT the/DET",
}
MONTHS = "january february march april may june july august september october november december".split()
# {relation: (first sentence, end of the second, the ten words that continue)}; + is she or he
LIVES = {
    "home": (
        "*/PROPN is/AUX from/ADP &/PROPN",
        "lives/VERB in/ADP &/PROPN",
        "today/NOUN +/PRON !lives/VERB in/ADP the/DET old/ADJ town/NOUN of/ADP &/PROPN ./PUNCT",
    ),
    "sport": (
        "*/PROPN is/AUX fond/ADJ of/ADP &/NOUN",
        "likes/VERB &/NOUN",
        "on/ADP sundays/NOUN +/PRON !plays/VERB &/NOUN with/ADP friends/NOUN until/ADP night/NOUN ./PUNCT",
    ),
    "job": (
        "*/PROPN is/AUX a/DET &/NOUN",
        "became/VERB a/DET &/NOUN",
        "to/PART earn/VERB a/DET living/NOUN +/PRON !works/VERB as/ADP a/DET &/NOUN ./PUNCT",
    ),
}


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
        follows = (
            f"+/PRON was/AUX born/VERB in/ADP {choose(rng, MONTHS)}/PROPN and/CCONJ "
            f"{LIVES[second][1]} ./PUNCT"
        )
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
    return {
        "text": row["text"],
        "target": target,
        "subject": subject,
        "distractor": distractor,
        "evidence": row["evidence"],
        "pos": row["pos"],
        "kind": kind,
    }
