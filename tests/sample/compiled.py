"""A classifier of planted texts whose weights are written down, not trained: exact ground truth for metrics.

Words have roles, COPIES dimensions of the embedding each, of which the mean is read; every other word,
[MASK] and [PAD] are zero vectors. So a token that is zeroed, masked or replaced by id 0 is the same as a
neutral word; a token that is deleted is gone. Where single dimensions are erased, a role counts by the share
of its dimensions that is left.

Layer 1 has a head for each partner role: every token looks for that role in its window. A layer of ReLUs then
finds the tokens that are evidence of a class, such as "rabbit" with "maple" before it. Layer 2 has a head for
each kind of evidence: [CLS] looks for it. Attention is sharp: a head gives 1 if it finds something, else 0.

    logit of class c = Σ weight · head − 7/2,    logit of the third class = 0

A class has heads of weight 7, or, for graded evidence, heads of weights 4, 2 and 1.
"""

import torch
from torch import nn
from transformers import AutoConfig, AutoModelForSequenceClassification, PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput

from faithlib.corpora import planted
from faithlib.models.bilstm import NO_ATTENTION
from faithlib.models.built import word_tokenizer
from faithlib.models.classifier import Classifier
from notebooks.ground_truth_2.measure.planted_texts import GRADES

SHARP = (
    30.0  # the score of what a head looks for; that of looking at oneself, and finding nothing, is half of it
)
TOTAL = 7.0  # of the weights of a class
COPIES = 32  # dimensions of a role: as wide as a trained model of width 64 where there are two roles


def compiled(mechanism: str, texts: list[str]) -> Classifier:
    """The compiled classifier of a mechanism.

    Args:
        mechanism: a key of `corpora.planted.MECHANISMS`; "redundant" is computed as "one_word"; or
            "graded".
        texts: [str], whose words are the vocabulary.

    Returns:
        A `Classifier` of three classes, `corpora.planted.LABELS`.

    Raises:
        ValueError: an unknown mechanism.

    Example:
        >>> from faithlib.engine import forward
        >>> model = compiled("one_word", ["the copper chair", "the cotton chair"])
        >>> texts = ["the copper chair", "the cotton chair", "the chair"]
        >>> forward.probabilities(model, [forward.unchanged(e) for e in model.encode(texts)]).argmax(1)
        array([0, 1, 2])
    """
    rules, near = _rules(mechanism)
    tokenizer = word_tokenizer(texts)
    roles = list(dict.fromkeys(words for token, partner, *_ in rules for words in (token, partner) if words))
    config = CompiledConfig(
        vocab_size=len(tokenizer),
        width=COPIES * len(roles),
        copies=COPIES,
        near=near,
        rules=[
            [roles.index(token), roles.index(partner) if partner else -1, c, w]
            for token, partner, c, w in rules
        ],
        num_labels=len(planted.LABELS),
        id2label=dict(enumerate(planted.LABELS)),
    )
    model = Compiled(config)
    with torch.no_grad():
        model.encoder.words.weight.zero_()
        for word, i in tokenizer.get_vocab().items():
            model.encoder.words.weight[i] = torch.tensor(
                [word in words for words in roles]
            ).repeat_interleave(COPIES)
    return Classifier(model, tokenizer, f"compiled {mechanism.replace('_', ' ')}")


def _rules(mechanism):
    """[(words of the token, words of its partner or (), class, weight)] of each kind of evidence; the window.

    The window holds the tokens from the first to the last of these distances before the token.
    """
    classes, anywhere = planted.CLASSES, (-10_000, 10_000)
    if mechanism == "xor":
        cells = [(i, j) for i in range(2) for j in range(2)]
        return [((planted.FIRST[i],), (planted.SECOND[j],), int(i != j), TOTAL) for i, j in cells], anywhere
    if mechanism == "ordered_pair":
        one, other = planted.PAIR
        return [((other,), (one,), 0, TOTAL), ((one,), (other,), 1, TOTAL)], (1, 10_000)
    if mechanism == "graded":
        graded = [zip(words, GRADES, strict=False) for words in classes]
        return [((word,), (), c, grade) for c, words in enumerate(graded) for word, grade in words], ()
    if mechanism not in planted.MECHANISMS:
        raise ValueError(f"mechanism {mechanism!r} cannot be compiled: use {', '.join(planted.MECHANISMS)}")
    return [(words, (), c, TOTAL) for c, words in enumerate(classes)], ()


class CompiledConfig(PreTrainedConfig):
    """The rules of a Compiled.

    Attributes:
        width: dimensions of an embedding, `copies` for each role of a word.
        copies: dimensions of a role.
        rules: [[role of the token, role of its partner or -1, class, weight]].
        near: the distances (tokens before) between which a partner counts.
    """

    model_type = "compiled-attention"
    attribute_map = {"hidden_size": "width"}

    vocab_size: int = 5
    width: int = 1
    copies: int = 1
    rules: list | tuple = ()
    near: list | tuple = ()
    pad_token_id: int | None = 0
    max_position_embeddings: int = 1_000_000


class Compiled(PreTrainedModel):
    """Two layers of sharp attention with ReLUs between them; see the module's docstring."""

    config_class = CompiledConfig
    base_model_prefix = "encoder"

    def __init__(self, config):
        super().__init__(config)
        self.encoder = nn.ModuleDict({"words": nn.Embedding(config.vocab_size, config.width)})
        self.encoder.embeddings = nn.Identity()  # its output is where metrics erase embeddings
        self.post_init()

    def get_input_embeddings(self):
        return self.encoder["words"]

    def forward(self, inputs_embeds, attention_mask, output_attentions=False, output_hidden_states=False):
        """Class logits; attention of both layers, (batch, heads, tokens, tokens); the embeddings.

        Args:
            inputs_embeds: (batch, tokens, width).
            attention_mask: (batch, tokens), 1 at present tokens; or (batch, 1, tokens, tokens), added to
                scores.
            output_attentions, output_hidden_states: whether to return them.
        """
        embedded = self.encoder.embeddings(inputs_embeds)  # (batch, tokens, width)
        features = embedded.unflatten(-1, (-1, self.config.copies)).mean(-1)  # (batch, tokens, roles)
        mask = attention_mask
        bias = mask[:, 0] if mask.ndim == 4 else torch.where(mask > 0, 0.0, NO_ATTENTION)[:, None]
        rules, layers = self.config.rules, []
        of_rules = features[..., [token for token, *_ in rules]]  # (batch, tokens, rules)
        if partners := [partner for _, partner, *_ in rules if partner >= 0]:
            first = _attention(features[..., partners], bias, self.config.near)
            of_partners = torch.einsum("bkij,bjk->bik", first, features[..., partners])
            of_rules, layers = (of_rules + of_partners - 1).relu(), [first]
        second = _attention(of_rules, bias)
        heads = torch.einsum("bkj,bjk->bk", second[:, :, 0], of_rules)  # read at [CLS]
        logits = torch.zeros(len(features), self.config.num_labels).to(features)
        for k, (_, _, c, weight) in enumerate(rules):
            logits[:, c] += weight * heads[:, k]
        logits[:, sorted({c for _, _, c, _ in rules})] -= TOTAL / 2
        return SequenceClassifierOutput(
            logits=logits,
            hidden_states=(embedded,) if output_hidden_states else None,
            attentions=(*layers, second) if output_attentions else None,
        )


def _attention(keys, bias, near=()):
    """Attention of every token i to tokens j by their keys (batch, tokens, heads): (batch, heads, i, j)."""
    at = torch.arange(keys.shape[1], device=keys.device)
    before, itself = at[:, None] - at, torch.eye(len(at), dtype=bool, device=keys.device)
    scores = SHARP * keys.mT[:, :, None].expand(-1, -1, len(at), -1)  # (batch, heads, i, j)
    if near:
        scores = scores.masked_fill((before < near[0]) | (before > near[1]), NO_ATTENTION)
    scores = scores.masked_fill(itself, SHARP / 2) + bias[:, None]
    return scores.clamp(min=NO_ATTENTION).softmax(-1)


AutoConfig.register(CompiledConfig.model_type, CompiledConfig)
AutoModelForSequenceClassification.register(CompiledConfig, Compiled)
