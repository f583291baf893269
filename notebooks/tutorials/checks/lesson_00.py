"""Checks of lesson 0, a wrong explanation that looks right."""

import numpy as np

from checks import call, check, choice, hints, same

hint = hints(__name__)


@check
def vote(answer):
    """An explanation is a claim about the model, not about the words that a reader likes.
    Look at p(positive) without each of the words.
    """
    after = "read the next section: how far does the probability fall without the word that it marks?"
    choice(answer, "c", {"a": after, "b": after})


@check(instead=np.subtract)
def leave_one_out(mine):
    """A token matters if the probability falls without it: compare the two numbers.
    The larger the fall, the higher the score; where the probability rises, the score is below 0.
    numpy subtracts an array from a number entry by entry: p_full - …
    """
    expected = np.array([0, 0.65, -0.05])
    signs = "right but for the signs: a token without which the probability falls has a score above 0"
    wrong = [(-expected, signs), (np.abs(expected), signs)]
    rule = "score = probability of the whole text − probability without the token"
    same(call(mine, 0.9, np.array([0.9, 0.25, 0.95])), expected, rule, wrong=wrong)
    rule = "right for one text only: compute the scores from p_full and p_without"
    same(call(mine, 0.5, np.array([0.75, 0.5, 0])), [-0.25, 0, 0.5], rule)


@check
def opposite(answer):
    """What did the model use: the opinion or the day?
    “sunday” is still in the review.
    """
    choice(answer, "positive", {"negative": "which word did the model use, and is it still there?"})


@check
def after_swap(answer):
    """In the test reviews the day and the opinion always agree.
    After the swap they never do; which does the model follow?
    """
    hints = {
        "always": "this would be so if the model used the opinion; which word does it use?",
        "half": "this would be so if the model used neither; which class does the swapped day stand for?",
    }
    choice(answer, "never", hints)
