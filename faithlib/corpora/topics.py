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

from faithlib.corpora.grammar import choose, example, phrase, words_of

LABELS = ("World", "Sports", "Business", "Sci/Tech")

WORDS = words_of("topics")
ACTORS, VERBS, OBJECTS = ([words.split() for words in WORDS[name]] for name in ("actors", "verbs", "objects"))
OPENINGS, ENDINGS = (list(map(phrase, WORDS[name])) for name in ("openings", "endings"))


def generate(rng):
    """A group of one example."""
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
