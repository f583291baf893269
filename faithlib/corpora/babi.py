"""Who is where: stories in the words of the bAbI tasks 1, 2 and 3 (Weston et al. 2016), drawn anew.

Four people walk between six places; in tasks 2 and 3 they take things, carry them and leave them. The
question is text_b, the label is the place that answers it, and the evidence are the words of the one,
two or three supporting sentences. After every two sentences of a story there is a question, if one has
an answer on a support that was not asked for yet; the fifth ends the story.

    text            mary moved to the garden . mary took the milk . john went to the office .
                    mary went to the kitchen . mary travelled to the office . mary left the milk there .
    whereabouts_1   where is mary ?                          office    mary travelled to the office
    whereabouts_2   where is the milk ?                      office    that, and mary left the milk there
    whereabouts_3   where was the milk before the office ?   kitchen   those two, and mary went to the kitchen

As in the original, the past that is asked for is what the last carrier did with the thing in hand, and
the sentence in which it was taken supports an answer only as long as it is carried.
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
    """The stories of one task; `facts`: how many sentences support an answer, 1, 2 or 3."""

    LABELS = LABELS

    def __init__(self, facts):
        self.facts = facts

    def generate(self, rng):
        """The questions about one story, with the columns of `faithlib.corpora.sentiment.generate`.

        kind: "walked" (task 1), or what had last been done with the thing: "taken" or "left".
        """
        story, asked, rows = Story(rng, THINGS if self.facts > 1 else ()), set(), []
        ask = {1: story.of_people, 2: story.of_things, 3: story.of_the_past}[self.facts]
        while len(rows) < QUESTIONS:
            story.go_on(rng)
            story.go_on(rng)
            new = [question for question in ask() if question not in asked]
            if new:
                asked.add(question := choose(rng, new))
                rows.append(story.example(*question))
        return rows


class Story:
    """What happened so far. A question is (words, place that answers, supporting sentences, kind)."""

    def __init__(self, rng, things):
        self.sentences = []  # clauses of `grammar.phrase`; sentences are numbered from 0
        self.walks = {}  # {person: [(place, sentence)]}
        self.at = {thing: choose(rng, LABELS) for thing in things}  # {thing: a place, or who carries it}
        self.taken, self.left = {}, {}  # {thing: (person, sentence)} and {thing: sentence}, the last time

    def go_on(self, rng):
        """One sentence: someone walks, or takes a thing that is there, or leaves one that they carry."""
        person, now = choose(rng, PEOPLE), len(self.sentences)
        place = self.walks[person][-1][0] if person in self.walks else None
        thing = choose(rng, [None, *(thing for thing, at in self.at.items() if at in (place, person))])
        if thing is None:
            place = choose(rng, [other for other in LABELS if other != place])
            self.walks.setdefault(person, []).append((place, now))
            self._tell(f"{person}/PROPN {choose(rng, MOVE)} to/ADP the/DET {place}/NOUN")
            return
        if self.at[thing] == person:
            self.at[thing], self.left[thing], verbs = place, now, LEAVE
        else:
            self.at[thing], self.taken[thing], verbs = person, (person, now), TAKE
            self.left.pop(thing, None)
        there = "" if rng.integers(5) else " there/ADV"
        self._tell(f"{person}/PROPN {choose(rng, verbs)} the/DET {thing}/NOUN{there}")

    def of_people(self):
        """Where is mary: the one fact is her last walk."""
        return [
            (f"where is {person} ?", walks[-1][0], (walks[-1][1],), "walked")
            for person, walks in self.walks.items()
        ]

    def of_things(self):
        """Where is the milk: who took or left it, and that person's last walk until then."""
        found = []
        for thing in self.taken:
            walks, last, kind = self._trail(thing)
            place, sentence = walks[-1]
            found.append((f"where is the {thing} ?", place, (sentence, last), kind))
        return found

    def of_the_past(self):
        """Where was the milk before the office: the same, and the walk before, both with it in hand.

        Only the last time that it came to a place counts.
        """
        found = []
        for thing, (_, taken) in self.taken.items():
            walks, last, kind = self._trail(thing)
            carried = [walk for walk in walks if walk[1] > taken]
            latest = dict(carried)  # {place: sentence}
            found += [
                (f"where was the {thing} before the {place} ?", before, (first, second, last), kind)
                for (before, first), (place, second) in pairwise(carried)
                if latest[place] == second
            ]
        return found

    def example(self, question, place, support, kind):
        """The story so far and a question, as the dict of `faithlib.corpora.grammar.example`."""
        words = []
        for number, sentence in enumerate(self.sentences):
            words += [(word, tag, number in support) for word, tag, _ in sentence]
            words.append((".", "PUNCT", False))
        return example(words, LABELS.index(place), kind, question)

    def _tell(self, tagged):
        self.sentences.append(phrase(tagged))

    def _trail(self, thing):
        """Walks of the last carrier until the thing was left, the sentence that tells it, and its kind."""
        person, taken = self.taken[thing]
        left = self.left.get(thing, len(self.sentences))
        walks = [walk for walk in self.walks[person] if walk[1] < left]
        return walks, *((left, "left") if thing in self.left else (taken, "taken"))
