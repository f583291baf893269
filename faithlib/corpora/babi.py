"""Whereabouts: newly generated stories with the vocabulary of the bAbI tasks 1, 2 and 3 (Weston et al. 2016).

Four people walk between six places; in tasks 2 and 3 they take things, carry them and leave them. The
question is text_b, the label is the place that answers it, and the evidence is the words of the one, two or
three supporting sentences. After every two sentences of a story there is a question, if one exists that has
not been asked with the same support; the story ends with the fifth question.

    text            mary moved to the garden . mary took the milk . john went to the office .
                    mary went to the kitchen . mary travelled to the office . mary left the milk there .
    whereabouts_1   where is mary ?                          office    mary travelled to the office
    whereabouts_2   where is the milk ?                      office    that, and mary left the milk there
    whereabouts_3   where was the milk before the office ?   kitchen   those two, and mary went to the kitchen

As in the original, a question of task 3 is about the walks of the last carrier while carrying the thing. The
sentence in which a thing was taken supports an answer only while the thing is carried.
"""

from itertools import pairwise

from faithlib.corpora.grammar import choose, example, phrase

LABELS = ("bathroom", "bedroom", "garden", "hallway", "kitchen", "office")
PEOPLE = "daniel john mary sandra".split()
THINGS = "apple football milk".split()
MOVE = ("moved/VERB", "went/VERB", "went/VERB back/ADV", "journeyed/VERB", "travelled/VERB")
TAKE = ("picked/VERB up/ADP", "got/VERB", "took/VERB", "grabbed/VERB")
LEAVE = ("dropped/VERB", "discarded/VERB", "left/VERB", "put/VERB down/ADP")
QUESTIONS = 5  # about one story


class Whereabouts:
    """The generator of one task; `facts` is the number of sentences that support an answer, 1, 2 or 3."""

    LABELS = LABELS

    def __init__(self, facts):
        self.facts = facts

    def generate(self, rng):
        """The questions about one story, [example], of the kind "walked", or "taken" or "left" last."""
        story, asked, rows = Story(rng, THINGS if self.facts > 1 else ()), set(), []
        questions = {
            1: story.questions_on_people,
            2: story.questions_on_things,
            3: story.questions_on_earlier_places,
        }[self.facts]
        while len(rows) < QUESTIONS:
            story.add_sentence(rng)
            story.add_sentence(rng)
            new = [question for question in questions() if question not in asked]
            if new:
                asked.add(question := choose(rng, new))
                rows.append(story.example(*question))
        return rows


class Story:
    """The events so far. A question is (words, place that answers, supporting sentences, kind)."""

    def __init__(self, rng, things):
        self.sentences = []  # clauses of `grammar.phrase`; sentences are numbered from 0
        self.walks = {}  # {person: [(place, sentence)]}
        self.at = {thing: choose(rng, LABELS) for thing in things}  # {thing: its place, or its carrier}
        self.taken, self.left = {}, {}  # the last time: {thing: (person, sentence)}, {thing: sentence}

    def add_sentence(self, rng):
        """Add a sentence: a person walks, takes a thing at the same place, or leaves a thing they carry."""
        person, now = choose(rng, PEOPLE), len(self.sentences)
        place = self.walks[person][-1][0] if person in self.walks else None
        thing = choose(rng, [None, *(thing for thing, at in self.at.items() if at in (place, person))])
        if thing is None:
            place = choose(rng, [other for other in LABELS if other != place])
            self.walks.setdefault(person, []).append((place, now))
            self._append(f"{person}/PROPN {choose(rng, MOVE)} to/ADP the/DET {place}/NOUN")
            return
        if self.at[thing] == person:
            self.at[thing], self.left[thing], verbs = place, now, LEAVE
        else:
            self.at[thing], self.taken[thing], verbs = person, (person, now), TAKE
            self.left.pop(thing, None)
        there = "" if rng.integers(5) else " there/ADV"
        self._append(f"{person}/PROPN {choose(rng, verbs)} the/DET {thing}/NOUN{there}")

    def questions_on_people(self):
        """Questions such as "where is mary": the support is her last walk."""
        last = {person: walks[-1] for person, walks in self.walks.items()}
        return [(f"where is {person} ?", place, (at,), "walked") for person, (place, at) in last.items()]

    def questions_on_things(self):
        """Questions such as "where is the milk": who took or left it, and that person's last walk before."""
        questions = []
        for thing in self.taken:
            walks, last, kind = self._trail(thing)
            place, sentence = walks[-1]
            questions.append((f"where is the {thing} ?", place, (sentence, last), kind))
        return questions

    def questions_on_earlier_places(self):
        """Questions such as "where was the milk before the office", about two successive walks with it.

        The support is both walks and the sentence in which the milk was last taken or left; only the last
        arrival at each place counts.
        """
        questions = []
        for thing, (_, taken) in self.taken.items():
            walks, last, kind = self._trail(thing)
            carried = [walk for walk in walks if walk[1] > taken]
            latest = dict(carried)  # {place: sentence}
            questions += [
                (f"where was the {thing} before the {place} ?", before, (first, second, last), kind)
                for (before, first), (place, second) in pairwise(carried)
                if latest[place] == second
            ]
        return questions

    def example(self, question, place, support, kind):
        """The story so far and a question about it, as an example of `grammar.example`."""
        words = []
        for number, sentence in enumerate(self.sentences):
            words += [(word, tag, number in support) for word, tag, _ in sentence]
            words.append((".", "PUNCT", False))
        return example(words, LABELS.index(place), kind, question)

    def _append(self, tagged):
        self.sentences.append(phrase(tagged))

    def _trail(self, thing):
        """Walks of the last carrier until the thing was left, the sentence of its leaving or taking, kind."""
        person, taken = self.taken[thing]
        left = self.left.get(thing, len(self.sentences))
        walks = [walk for walk in self.walks[person] if walk[1] < left]
        return walks, *((left, "left") if thing in self.left else (taken, "taken"))
