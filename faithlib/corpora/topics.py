"""Four news topics after AG News: World, Sports, Business, Sci/Tech.

A text is one sentence in the style of a headline. Its words are neutral except two or three words of its
topic, which are the evidence:

    <opening> the <actor> <verb> the <thing> , [near the <word of another topic> ,] <ending> .

A third of the texts has no verb of the topic ("was near"), and a third has one word of another topic (kind
*distracted*), so that no single word determines the label.

    "on tuesday the coach kicked the trophy , a report says ."       Sports; coach kicked trophy
    "for now the bank was near the merger , near the genome , without a word ."
                                                                    Business; bank merger
"""

from faithlib.corpora.grammar import choose, example, phrase

LABELS = ("World", "Sports", "Business", "Sci/Tech")

ACTORS = (
    "minister president embassy army parliament senator rebels diplomat".split(),
    "striker goalkeeper coach sprinter team referee champion pitcher".split(),
    "bank retailer investor broker airline insurer trader shareholder".split(),
    "scientist astronomer engineer satellite robot browser laboratory programmer".split(),
)
VERBS = (
    "negotiated condemned invaded governed elected".split(),
    "coached defended tackled kicked won".split(),
    "financed borrowed merged sold traded".split(),
    "computed launched encrypted simulated downloaded".split(),
)
OBJECTS = (
    "treaty border ceasefire election hostage embargo refugees summit".split(),
    "match stadium tournament medal league penalty season trophy".split(),
    "dividend shares profit merger loan quarter stock revenue".split(),
    "software telescope genome processor spacecraft network virus chip".split(),
)
OPENINGS = [
    phrase(text)
    for text in (
        "for/ADP now/ADV",
        "on/ADP tuesday/PROPN",
        "in/ADP the/DET morning/NOUN",
        "after/ADP two/NUM weeks/NOUN",
        "late/ADV on/ADP friday/PROPN",
        "for/ADP the/DET first/ADJ time/NOUN",
        "as/SCONJ many/ADJ expected/VERB ,/PUNCT",
    )
]
ENDINGS = [
    phrase(text)
    for text in (
        "sources/NOUN said/VERB",
        "to/PART the/DET surprise/NOUN of/ADP many/ADJ",
        "a/DET report/NOUN says/VERB",
        "and/CCONJ nobody/PRON was/AUX there/ADV",
        "it/PRON was/AUX announced/VERB",
        "without/ADP a/DET word/NOUN",
    )
]


def generate(rng):
    """A group of one example, a dict like those of `faithlib.corpora.sentiment.generate`."""
    topic = int(rng.integers(4))
    actor, verb, thing = (choose(rng, words[topic]) for words in (ACTORS, VERBS, OBJECTS))
    verb_phrase = f"{verb}/VERB" if rng.integers(3) else "was/AUX near/ADP"
    main = phrase(f"the/DET {actor}/NOUN {verb_phrase} the/DET {thing}/NOUN", evidence=(actor, verb, thing))
    words = [*choose(rng, OPENINGS), *main, (",", "PUNCT", False)]
    kind = "plain"
    if rng.integers(3) == 0:
        other = choose(rng, [t for t in range(4) if t != topic])
        stranger = choose(rng, (ACTORS, OBJECTS)[rng.integers(2)][other])
        words += [*phrase(f"near/ADP the/DET {stranger}/NOUN"), (",", "PUNCT", False)]
        kind = "distracted"
    words += [*choose(rng, ENDINGS), (".", "PUNCT", False)]
    return [example(words, topic, kind)]
