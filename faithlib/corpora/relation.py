"""Findings of small trials and questions about them: a paired task after Evidence Inference.

The text reports one trial: two treatments, and a finding on each of two outcomes, with different labels. The
auxiliary part asks for one of the outcomes:

    text     we compared <intervention> with <comparator> <setting> . <finding> , <finding> .
    finding  <outcome> <verb of that outcome>
    text_b   <intervention> | <comparator> | <outcome>

Both questions are asked about every text, so a classifier that reads only the text is right on one of the
two, and one that reads only the question is at chance. The evidence is the outcome asked for and its verb;
the other finding is a distractor.

    "we compared aspirin with placebo in adults . pain eased , sleep held ."
    "aspirin | placebo | pain"    significantly decreased; evidence: pain eased
    "aspirin | placebo | sleep"   no significant difference; evidence: sleep held
"""

from faithlib.corpora.grammar import choose, example, phrase, words_of

LABELS = ("no significant difference", "significantly decreased", "significantly increased")

# Each outcome has its own three verbs, in the order of LABELS. With shared verbs a model has to bind each
# verb to its subject, which a two-layer model does not learn in seconds.
WORDS = words_of("relation")
VERBS = {outcome: verbs.split() for outcome, verbs in WORDS["verbs"].items()}
INTERVENTIONS, COMPARATORS = WORDS["interventions"].split(), WORDS["comparators"].split()
SETTINGS = [phrase(text) for text in WORDS["settings"]]


def generate(rng):
    """Both questions about one text, [example]."""
    treated, control = choose(rng, INTERVENTIONS), choose(rng, COMPARATORS)
    outcomes = [str(outcome) for outcome in rng.permutation(list(VERBS))[:2]]
    labels = rng.permutation(3)[:2]
    verbs = [VERBS[outcome][label] for outcome, label in zip(outcomes, labels, strict=True)]
    opening = phrase(f"we/PRON compared/VERB {treated}/NOUN with/ADP {control}/NOUN")
    opening += [*choose(rng, SETTINGS), (".", "PUNCT", False)]
    rows = []
    for asked, label in zip(outcomes, labels, strict=True):
        words = list(opening)
        for outcome, verb in zip(outcomes, verbs, strict=True):
            evidence = (outcome, verb) if outcome == asked else ()
            words += [*phrase(f"{outcome}/NOUN {verb}/VERB ,/PUNCT", evidence)]
        words[-1] = (".", "PUNCT", False)
        rows.append(example(words, label, "asked", f"{treated} | {control} | {asked}"))
    return rows
