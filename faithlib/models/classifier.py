"""Classifiers: Hugging Face encoders with a classification head (BERT, RoBERTa, DistilBERT, MiniLM, …)."""

from contextlib import ExitStack, contextmanager, nullcontext
from functools import cached_property

import torch
from torch import nn
from torch.nn.functional import linear

from faithlib.models.base import Transformer
from faithlib.models.precision import widened


class Classifier(Transformer):
    """A sequence classifier in memory, as it is; explained is the logit of a class, read at the first token.

    Example:
        >>> from faithlib import models
        >>> loaded = models.load("tiny-bert", ("no", "yes"), ["the plot was great"])
        >>> model = Classifier(loaded.model.to(torch.bfloat16), loaded.tokenizer, "mine")
        >>> model.dtype, model.outputs
        (torch.bfloat16, 2)
    """

    explains = "logit"
    baseline = "zero"

    @property
    def outputs(self):
        """The number of classes."""
        return self.model.config.num_labels

    @property
    def mask_id(self):
        return self.tokenizer.mask_token_id

    @cached_property
    @torch.no_grad()
    def factor_width(self):
        """The width of the embedding layer's output, which `factor` multiplies.

        It is not always that of the table (DeBERTa-v2, MobileBERT) or the hidden size (ELECTRA, ALBERT).
        """
        layer, widths = getattr(getattr(self.model, "base_model", None), "embeddings", None), []
        if layer is None:  # an adapter's
            return super().factor_width
        with layer.register_forward_hook(lambda module, args, output: widths.append(output.shape[-1])):
            self.logits(self.collate(self.encode(["a"])))
        return widths[0]

    def reads(self, batch):
        """The position that the prediction is read from: CLS, (batch,) zeros."""
        return batch.ids.new_zeros(len(batch.ids))

    @cached_property
    @torch.no_grad()
    def pools(self):
        """Whether the head reads other positions than the first, as a mean over tokens does."""
        encoder, batch = getattr(self.model.eval(), "base_model", None), self.collate(self.encode(["a a"]))

        def others_large(module, args, output):
            if (states := getattr(output, "last_hidden_state", None)) is not None:
                output["last_hidden_state"] = torch.cat([states[:, :1], 1e3 * states[:, 1:]], 1)

        if encoder is None:  # an adapter's
            return False
        logits = self._logits(batch)
        with encoder.register_forward_hook(others_large):
            return not torch.allclose(self._logits(batch), logits, 1e-5, 1e-5)

    def explained(self, logits, target):
        """The target's logit: (batch, classes), (batch,) -> (batch,)."""
        return logits.gather(1, target[:, None])[:, 0]

    def logits(self, batch, embeddings=None, factor=None, weight=None):
        """Class logits: (batch, classes) float.

        Args:
            embeddings: word embeddings to use instead of those of batch.ids, (batch, tokens, width).
            factor: multiplies the output of the embedding layer (words + positions, after its layer norm),
                (batch, tokens, 1 or width); 0 erases a token, 1 leaves it unchanged.
            weight: multiplies the attention to a token before it is renormalised, (batch, tokens) in [0, 1].
        """
        if weight is not None and not self.weighs:
            raise ValueError(
                f"{self.name} ({self.model.config.model_type}) takes no weights of attention: "
                "leave out perturbations of attention"
            )
        with self._first_token_alone():
            return self._logits(batch, embeddings, factor, weight)

    def _logits(self, batch, embeddings=None, factor=None, weight=None):
        with self.computing(), self._embedding_factor(factor), self._attention_weight(batch, weight):
            output = self.model(**self._inputs(batch, embeddings, weight))
        return widened(output.logits).to(batch.ids.device)

    @cached_property
    @torch.no_grad()
    def weighs(self):
        """Whether attention can be weighted: weights of 1 change nothing, beyond a sliding window too."""
        if "deberta" in self.model.config.model_type:
            return False  # it reads a mask as true or false
        words = getattr(self.model.config, "local_attention", 0) + 8
        long = self.truncate(self.encode(["a " * words])[0])
        batch = self.collate([long, self.encode(["a"])[0]])
        near = 1e-3 if self.dtype == torch.float32 else 0.3
        logits = self._logits(batch, weight=torch.ones(batch.ids.shape, device=batch.ids.device))
        return torch.allclose(logits, self._logits(batch), near, near)

    def hidden_states(self, batch):
        """The embedding output and every layer's: (batch, tokens, width) each."""
        with self.computing():
            states = self.model(**self._inputs(batch), output_hidden_states=True).hidden_states
        return tuple(widened(state).to(batch.ids.device) for state in states)

    def _attend(self, batch):
        with self.computing():
            output = self.model(**self._inputs(batch), output_attentions=True)
        return widened(output.logits).to(batch.ids.device), output.attentions

    def _inputs(self, batch, embeddings=None, weight=None):
        inputs = {"inputs_embeds": self._entered(self.embed(batch.ids) if embeddings is None else embeddings)}
        if getattr(self.model.config, "type_vocab_size", 1) > 1:
            inputs["token_type_ids"] = batch.types
        if weight is None or self._windows:
            inputs["attention_mask"] = batch.present.long()
        else:
            inputs["attention_mask"] = _bias(batch, weight, inputs["inputs_embeds"].dtype)
        return inputs

    @property
    def _windows(self):
        """The layers of a model some of which attend to neighbours alone, [] of others."""
        sliding = "sliding_attention" in (getattr(self.model.config, "layer_types", None) or ())
        return getattr(getattr(self.model, "base_model", None), "layers", []) if sliding else []

    @contextmanager
    def _attention_weight(self, batch, weight):
        """Context in which layers with masks of their own (ModernBERT) weight what these let through."""

        def weighted(layer, args, keywords):
            mask, bias = keywords.get("attention_mask"), _bias(batch, weight, args[0].dtype)
            if mask is not None and mask.dtype == torch.bool:
                mask = torch.zeros_like(bias).masked_fill(~mask, torch.finfo(bias.dtype).min)
            least = torch.finfo(bias.dtype).min  # the sum of two would be infinite
            both = bias if mask is None else (mask + bias).clamp(min=least)
            return args, keywords | {"attention_mask": both}

        with ExitStack() as hooks:
            for layer in [] if weight is None else self._windows:
                hooks.enter_context(layer.register_forward_pre_hook(weighted, with_kwargs=True))
            yield

    @contextmanager
    def computing(self):
        """As `Transformer.computing`, with the last layer in float32: half precision has too few logits."""
        precise = self.dtype == torch.float32 or self._head is None
        widening = nullcontext() if precise else self._head.register_forward_hook(_widely)
        with super().computing(), widening:
            yield

    @cached_property
    def _head(self):
        """The layer whose outputs are the logits, or None."""
        layers = [m for m in self.model.modules() if isinstance(m, nn.Linear)]
        return next((m for m in reversed(layers) if m.out_features == self.outputs), None)

    def _first_token_alone(self):
        """Context in which the classifier computes only the [CLS] position after its last attention layer.

        A model of six layers saves an eighth of the work. Only for models with BERT's module names whose
        logits stay the same, and not in training, where dropout would draw other numbers.
        """
        if self._last_output is None or self.model.training or not self._reads_first:
            return nullcontext()
        return self._cut()

    @property
    def _last_output(self):
        """The module behind the last attention of a model with BERT's names, or None."""
        base = getattr(self.model, "base_model", None)
        last = getattr(getattr(base, "encoder", None), "layer", [None])[-1]
        return getattr(getattr(last, "attention", None), "output", None)

    def _cut(self):
        return self._last_output.register_forward_pre_hook(lambda module, args: tuple(x[:, :1] for x in args))

    @cached_property
    @torch.no_grad()
    def _reads_first(self):
        """Whether the head reads the first position alone, so that its logits stay without the others."""
        batch, near = self.collate(self.encode(["a a a"])), 1e-3 if self.dtype == torch.float32 else 0.3
        logits = self._logits(batch)
        with self._cut():
            same = torch.allclose(self._logits(batch), logits, near, near)
        return same and not self.pools

    def _embedding_factor(self, factor):
        """Context in which the output of the embedding layer is multiplied by `factor`, unless it is None."""
        if factor is None:
            return nullcontext()
        layer = self.model.base_model.embeddings
        return layer.register_forward_hook(lambda module, args, output: output * factor.to(output))


def _bias(batch, weight, dtype):
    """What is added to scores of attention: log weight, (batch, 1, tokens to, tokens from)."""
    bias = torch.where(batch.present, weight, 0).log()  # log 0 = -inf: no attention
    bias = bias.clamp(min=torch.finfo(dtype).min)[:, None, None, :].to(dtype)
    return bias.expand(-1, -1, bias.shape[-1], -1)


def _widely(layer, args, output):
    """The output of a linear layer, computed in float32 whatever its weights and inputs are."""
    if layer.weight.is_meta:  # offloaded: back on its disk by now
        return output
    with torch.autocast(output.device.type, enabled=False):
        bias = None if layer.bias is None else widened(layer.bias)
        return linear(widened(args[0]), widened(layer.weight), bias)
