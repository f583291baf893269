"""Classifiers whose logit is looked up in a table, so that the effect of every token is known."""

from types import SimpleNamespace

import tiny
import torch

from faithlib.models import Classifier

PAD, BOS, EOS, MASK, A = range(5)  # the token ids of the models made here; A, B, ... are the words


class Numbers(torch.nn.Module):
    """As much of a Hugging Face classifier as one needs: logits from a number a token, `value[id]`."""

    def __init__(self, logits, value, outputs=2):
        super().__init__()
        self.config = SimpleNamespace(model_type="numbers", max_position_embeddings=16, num_labels=outputs)
        self.words = torch.nn.Embedding.from_pretrained(torch.as_tensor(value, dtype=torch.float)[:, None])
        self.logits = logits
        self.seen = 0  # inputs evaluated

    def get_input_embeddings(self):
        return self.words

    def forward(self, inputs_embeds, attention_mask):
        self.seen += len(inputs_embeds)
        return SimpleNamespace(logits=self.logits(inputs_embeds[..., 0], attention_mask.bool()))


def classifier(logits, value=range(12), outputs=2, mask=MASK):
    tokenizer = SimpleNamespace(mask_token_id=mask, pad_token_id=PAD)
    return Classifier(Numbers(logits, value, outputs), tokenizer, "numbers")


def look_up(table):
    """A classifier that gives the logits that `table` has for the ids of an input."""
    table = {tuple(ids): torch.tensor(logits, dtype=torch.float) for ids, logits in table.items()}
    return classifier(
        lambda ids, present: torch.stack(
            [table[tuple(row[kept].int().tolist())] for row, kept in zip(ids, present, strict=True)]
        ),
        outputs=len(next(iter(table.values()))),
    )


def text(*ids):
    """[BOS] ids [EOS], the ids maskable."""
    return tiny.encoding(len(ids) + 2, range(1, len(ids) + 1), (BOS, *ids, EOS))


def losing(words, full, losses):
    """The table of a text: masking a set of its words takes losses[set] (else 0) from class 0's logit."""
    table = {}
    for bits in range(2 ** len(words)):
        lost = {word for i, word in enumerate(words) if bits >> i & 1}
        ids = (BOS, *(MASK if word in lost else A + "abcdef".index(word) for word in words), EOS)
        table[ids] = (full - losses.get("".join(sorted(lost)), 0), 0.25)
    return table


LOSSES = {
    "a": 4, "b": 3, "c": 2, "d": -1, "ab": 5, "ac": 4, "ad": 3, "bc": 6, "bd": 8, "cd": 12, "abc": 5,
    "abd": 6, "acd": 7, "bcd": 9, "abcd": 10,
}  # fmt: skip


def next_token(model, ids, target):
    """The target's probability after one prompt, from the Hugging Face model called as documented."""
    with torch.no_grad():
        return model.model(input_ids=torch.tensor(ids)[None]).logits[0, -1].softmax(-1)[target].item()
