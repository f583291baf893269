"""Checks of lesson 0, a wrong explanation that looks right."""

import numpy as np

from checks import call, check, choice, same


@check
def vote(answer):
    after = "read the next section: how far does the probability fall without the word that it marks?"
    choice(answer, "c", {"a": after, "b": after})


@check
def leave_one_out(mine):
    expected = np.array([0, 0.65, -0.05])
    signs = "right but for the signs: a token without which the probability falls has a score above 0"
    wrong = [(-expected, signs), (np.abs(expected), signs)]
    found = call(mine, 0.9, np.array([0.9, 0.25, 0.95]))
    same(
        found, expected, "score = probability of the whole text − probability without the token", wrong=wrong
    )


@check
def opposite(answer):
    choice(answer, "positive", {"negative": "which word did the model use, and is it still there?"})


@check
def after_swap(answer):
    hints = {
        "always": "this would be so if the model used the opinion; which word does it use?",
        "half": "this would be so if the model used neither; which class does the swapped day stand for?",
    }
    choice(answer, "never", hints)
