"""Causal language models: Hugging Face decoders (GPT-2, Llama, Qwen2, Gemma-2).

Padding is on the right, where no token attends to it, so prompts of any lengths share a batch and a prefix.
The language-model head, often a quarter of the work, is applied to the last token of each row only.
"""

import inspect
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from transformers import DynamicCache

from faithlib.models import placement
from faithlib.models.base import Transformer
from faithlib.models.precision import widened


@dataclass(frozen=True)
class Prefix:
    """Keys and values of the first tokens of some prompts, one pair for each layer."""

    layers: tuple  # of (keys, values), each (batch, heads, tokens, width)

    @property
    def bytes_a_token(self):
        """Memory of the keys and values of one token in all layers, in bytes."""
        return sum(2 * k.element_size() * k.shape[1] * k.shape[3] for k, _ in self.layers)

    def rows(self, indices, length):
        """The Prefix of the first `length` tokens of the prompts `indices` (repeats allowed)."""
        every = torch.as_tensor(indices)
        at = {device: every.to(device) for device in {k.device for k, _ in self.layers}}
        layers = ((k[at[k.device], :, :length], v[at[k.device], :, :length]) for k, v in self.layers)
        return Prefix(tuple(layers))


class CausalLM(Transformer):
    """A causal language model in memory, as it is; explained is the probability of a next token.

    It is a probability and not a logit, because next-token logits have a common free constant.

    Example:
        >>> from faithlib import models
        >>> loaded = models.load_causal("tiny-llama", ["the plot was great"])
        >>> model = CausalLM(loaded.model.to(torch.bfloat16), loaded.tokenizer, "mine")
        >>> model.dtype, model.logits(model.collate(model.encode(["the plot"]))).shape
        (torch.bfloat16, torch.Size([1, 8]))
    """

    explains = "probability"
    shares = True  # whether keys and values of a prefix can be reused, as `fit.check_runs` found
    baseline = "token"  # a path from the zero vector is ill-posed under scale-invariant norms (Llama, Qwen2)

    def __init__(self, model, tokenizer, name="", max_length=None, dtype=None):
        capped = getattr(model.config, "attn_logit_softcapping", None)
        if capped and model.config._attn_implementation not in placement.FLASH:
            model.set_attn_implementation("eager")  # sdpa silently omits Gemma-2's soft cap
        takes = inspect.signature(model.forward).parameters
        self._past = "cache" if "cache" in takes else "past_key_values"  # renamed in transformers 5.24
        super().__init__(model, tokenizer, name, max_length, dtype)

    @property
    def outputs(self):
        """The size of the vocabulary."""
        return self.model.config.vocab_size

    @property
    def mask_id(self):
        """The token that replaces an erased one: the mask, else the unknown, padding or end token."""
        t = self.tokenizer
        candidates = (t.mask_token_id, t.unk_token_id, t.pad_token_id, t.eos_token_id, 0)
        return next(token for token in candidates if token is not None)

    def encode(self, texts):
        """Encode prompts: [Encoding]; one that begins with the special tokens, as a chat's may, gets none.

        Raises:
            ValueError: an empty prompt; a tokenizer that ends each prompt with the token that ends a text.
        """
        encodings, end = [self._once(e) for e in super().encode(texts)], self.tokenizer.eos_token
        for text, encoding in zip(texts, encodings, strict=True):
            if not encoding.maskable.any():
                raise ValueError(f"prompt {text!r} is empty: a next token needs something before it")
            added = not encoding.maskable[-1] and encoding.ids[-1] == self.tokenizer.eos_token_id
            if added and not text.endswith(end):
                raise ValueError(
                    f"the tokenizer of {self.name} ends each prompt with {end!r}, so that nothing follows: "
                    "load it with add_eos_token=False"
                )
        return encodings

    @cached_property
    def _added(self):
        """The ids of the special tokens that the tokenizer puts before a prompt."""
        (encoding,) = super().encode(["a"])
        return encoding.ids[: encoding.maskable.argmax()]

    def _once(self, encoding):
        """A prompt without the special tokens put before it where its own text begins with them."""
        n = len(self._added)
        twice = n and np.array_equal(encoding.ids[n : 2 * n], self._added)
        return encoding.at(slice(n, None)) if twice else encoding

    @property
    def border(self):
        """Tokens above which the model computes otherwise (LongRoPE has factors of its own there), or 0.

        The longest input of a batch decides, so inputs on either side go in batches of their own.
        """
        rope = getattr(self.model.config, "rope_parameters", None) or {}
        original = rope.get("original_max_position_embeddings") or getattr(
            self.model.config, "original_max_position_embeddings", 0
        )
        return original if rope.get("rope_type") == "longrope" else 0

    def reads(self, batch):
        """The position that the prediction is read from: each row's last token, (batch,)."""
        return batch.present.sum(1) - 1

    def explained(self, logits, target):
        """The target's probability: (batch, vocabulary), (batch,) -> (batch,) in [0, 1]."""
        return logits.float().log_softmax(-1).gather(1, target[:, None])[:, 0].exp()

    def logits(self, batch, embeddings=None, factor=None, prefix=None):
        """Next-token logits after the last token of each row: (batch, vocabulary) float.

        Args:
            embeddings: word embeddings to use instead of those of batch.ids, (batch, tokens, width).
            factor: multiplies the embeddings, (batch, tokens, 1 or width).
            prefix: the Prefix of the tokens before `batch`, which then holds the later tokens only.
        """
        embeddings = self.embed(batch.ids) if embeddings is None else embeddings
        if factor is not None:
            embeddings = embeddings * factor
        past = DynamicCache(prefix.layers) if prefix else None
        return self._run(batch, embeddings, use_cache=past is not None, **{self._past: past})[0]

    def prefix(self, batch):
        """Next-token logits (batch, vocabulary), and the Prefix of all tokens of `batch`."""
        past = DynamicCache()  # without a config it keeps all tokens, also with sliding windows
        logits, _ = self._run(batch, self.embed(batch.ids), use_cache=True, **{self._past: past})
        return logits, Prefix(tuple((layer.keys, layer.values) for layer in past.layers))

    def _attend(self, batch):
        return self._run(batch, self.embed(batch.ids), use_cache=False, output_attentions=True)

    def _run(self, batch, embeddings, **arguments):
        """(next-token logits, attention where it is asked for) of word embeddings."""
        with self.computing(), self._last_token_alone(batch):
            output = self.model(inputs_embeds=self._entered(embeddings), **arguments)
        return widened(output.logits[:, 0]).to(batch.ids.device), getattr(output, "attentions", None)

    def _last_token_alone(self, batch):
        """Context in which the language-model head is applied to the last token of each row only."""
        rows, last = torch.arange(len(batch.ids), device=batch.ids.device), self.reads(batch)
        return self.model.get_output_embeddings().register_forward_pre_hook(
            lambda module, args: (args[0][rows.to(args[0].device), last.to(args[0].device)][:, None],)
        )  # (batch, 1, width)
