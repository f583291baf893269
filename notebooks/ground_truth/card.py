"""A study of our own: which faithfulness metric can be believed? What was fixed before its runs.

Mechanisms, gates, ladders, scales, nulls and tie rule are the constants of `gates`, `explanations` and
`protocol`; the claims are those of `claims`. Seeds 0 to 9 were pilots and take no part. The released soft
metrics erase by token id 0 everywhere, [CLS] included; hard NS and NC by zero vectors, decision flip and AOPC
by [MASK], soft metrics by zeroing single dimensions, F-Fidelity by [MASK]: each as its paper defines it.

Changed on 2026-11-23, before any unit of seed 10 or above had run: the compiled model has 32 dimensions for
each role of a word, where it had one (its accuracy for soft metrics was that of single draws); up to two
neutral words are inserted into every text, where one stood in the place of each missing planted word (pilots
of masked-tuned models and of MiniLM took it for evidence of the third class, and failed the gate of swapped
words); released soft metrics draw from the seeds of the text, as all others do; F-Fidelity, MaSF of the
perturbed inputs, and the digests of the texts were added; a unit scores 40 texts a mechanism, where it had
100. A pilot of the compiled model decided the last one: the accuracy of a text has a standard deviation of
.10 at most, so that 40 texts a mechanism leave a standard error of .005 in the accuracy of one model (100
texts: .003). With 10 models that alone is an interval of ± .004; what models differ by comes on top, and the
column `detectable` of the table of metrics has both.

RACU by retraining was added on the same day, before any unit of it had run (one pilot, seed 3): the BiLSTM,
one word and xor, 6,000 texts, the levels and rungs of `retraining`. It is exploratory, in a table of its own.

So was the language model (`language`; one pilot, seed 1): a tiny Llama of the same texts, mechanisms, gates,
ladders and draws, whose next word is the class, and a judge of the same kind that learnt from texts with
gaps. Its metrics are exploratory, in a table of their own; no claim is about them. Once seeds 10 to 12 had
run, no more were planned: one takes half an hour, and no claim would rest on it.

Added on 2026-11-24, once the verdicts with 40 texts a mechanism were known: the tiny BERT and the BiLSTM are
scored again on 100 texts, as the variant `tables.MORE`. The verdicts stay those of 40 texts, as fixed; what
100 texts give stands beside them, in a table of its own.
"""

from replication.papers import Card

# mechanism: the ladders whose pairs are its accuracy, equal weights; the mean over mechanisms is primary
PRIMARY = {
    "one_word": ("fifths", "shuffled"),
    "redundant": ("copies",),
    "xor": ("fifths", "shuffled"),
    "ordered_pair": ("fifths", "shuffled"),
    "in_context": ("fifths", "shuffled"),
}
NO_DIFFERENCE = 0.02  # accuracies that differ by less are called equal
HOLM = 0.025  # one-sided, over the claims
CARD = Card(
    name="ground_truth",
    title="Which faithfulness metric can be believed?",
    citation="a study of faithlib; shortcuts that are planted into texts from Bastings et al. (2022), EMNLP",
    url="https://arxiv.org/abs/2111.07367",
    claims=("A faithfulness metric prefers an explanation that is known to be better.",),
    models=("tiny-llama", "compiled"),
    figure="metrics",
    tables=("metrics", "gates", "attributions", "agreement"),
    attributions=(
        "attention",
        "gradient_l2",
        "input_x_gradient",
        "input_x_gradient_abs",
        "integrated_gradients",
        "integrated_gradients_abs",
        "leave_one_out",
        "leave_one_out_abs",
        "lime",
        "random_uniform",
    ),
)
