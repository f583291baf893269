"""Classifiers: Hugging Face encoders with a classification head (BERT, RoBERTa, DistilBERT, MiniLM, …)."""

from contextlib import contextmanager
from functools import cached_property

import torch
from torch import nn
from torch.nn.functional import linear

from faithlib.models.base import Transformer
from faithlib.models.precision import widened


class Classifier(Transformer):
    """A sequence classifier; explained is the logit of a class, read at the first token.

    A model that is in memory is wrapped as it is, in its dtype and on its devices; `load` loads one.

    Example:
        >>> from faithlib import models
        >>> loaded = models.load("tiny-bert", ("no", "yes"), ["the plot was great"])
        >>> hf_model, tokenizer = loaded.model.to(torch.bfloat16), loaded.tokenizer
        >>> model = Classifier(hf_model, tokenizer, "mine")
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

        It is not the embedding table's where the layer projects its output (DeBERTa-v2, MobileBERT), nor the
        hidden size where the encoder does so (ELECTRA, ALBERT).
        """
        layer, found = getattr(getattr(self.model, "base_model", None), "embeddings", None), []
        if layer is None:  # an adapter's
            return super().factor_width
        hook = layer.register_forward_hook(lambda module, args, output: found.append(output.shape[-1]))
        try:
            self.logits(self.collate(self.encode(["a"])))
        finally:
            hook.remove()
        return found[0]

    def reads(self, batch):
        """The position that the prediction is read from: CLS, (batch,) zeros."""
        return batch.ids.new_zeros(len(batch.ids))

    @cached_property
    @torch.no_grad()
    def pools(self):
        """Whether the head reads other positions than the first, as a mean over tokens does."""
        encoder, batch = getattr(self.model, "base_model", None), self.collate(self.encode(["a a"]))

        def first_alone(module, args, output):
            if (states := getattr(output, "last_hidden_state", None)) is not None:
                output["last_hidden_state"] = torch.cat([states[:, :1], 0 * states[:, 1:]], 1)

        if encoder is None:  # an adapter's
            return False
        logits, hook = self.logits(batch), encoder.register_forward_hook(first_alone)
        try:
            return not torch.allclose(self.logits(batch), logits, 1e-3, 1e-3)
        finally:
            hook.remove()

    def explained(self, logits, target):
        """The target's logit: (batch, classes), (batch,) -> (batch,)."""
        return logits.gather(1, target[:, None])[:, 0]

    def logits(self, batch, embeddings=None, factor=None, weight=None):
        """Class logits.

        Args:
            batch: a Batch.
            embeddings: word embeddings to use instead of those of batch.ids, (batch, tokens, width).
            factor: multiplies the output of the embedding layer (words + positions, after its layer norm),
                (batch, tokens, 1 or width); 0 erases a token, 1 leaves it unchanged.
            weight: multiplies the attention to a token before it is renormalised, (batch, tokens) in [0, 1].

        Returns:
            (batch, classes) float.
        """
        with self.computing(), self._embedding_factor(factor), self._first_token_alone():
            output = self.model(**self._inputs(batch, embeddings, weight))
        return widened(output.logits).to(batch.ids.device)

    def hidden_states(self, batch, factor=None):
        """The embedding output and every layer's output: a tuple of (batch, tokens, width).

        factor: as in `logits`.
        """
        with self.computing(), self._embedding_factor(factor):
            states = self.model(**self._inputs(batch), output_hidden_states=True).hidden_states
        return tuple(widened(state).to(batch.ids.device) for state in states)

    def _attend(self, batch):
        with self.computing():
            output = self.model(**self._inputs(batch), output_attentions=True)
        return widened(output.logits).to(batch.ids.device), output.attentions

    def _inputs(self, batch, embeddings=None, weight=None):
        if weight is not None and "deberta" in self.model.config.model_type:
            raise ValueError(  # they read a mask as true or false
                f"{self.name} ({self.model.config.model_type}) takes no weights of attention: "
                "leave out perturbations of attention"
            )
        inputs = {"inputs_embeds": self._entered(self.embed(batch.ids) if embeddings is None else embeddings)}
        if getattr(self.model.config, "type_vocab_size", 1) > 1:
            inputs["token_type_ids"] = batch.types
        if weight is None:
            inputs["attention_mask"] = batch.present.long()
        else:
            bias = torch.where(batch.present, weight, 0).log()  # log 0 = -inf: no attention
            bias = bias.clamp(min=torch.finfo(inputs["inputs_embeds"].dtype).min)[:, None, None, :]
            bias = bias.to(inputs["inputs_embeds"].dtype)
            inputs["attention_mask"] = bias.expand(-1, -1, bias.shape[-1], -1)  # (batch, 1, to, from)
        return inputs

    @contextmanager
    def computing(self):
        """As `Transformer.computing`, with the last layer in float32: half precision has too few logits."""
        with super().computing():
            if self.dtype == torch.float32 or self._head is None:
                yield
                return
            hook = self._head.register_forward_hook(_widely)
            try:
                yield
            finally:
                hook.remove()

    @cached_property
    def _head(self):
        """The layer whose outputs are the logits, or None."""
        layers = [m for m in self.model.modules() if isinstance(m, nn.Linear)]
        return next((m for m in reversed(layers) if m.out_features == self.outputs), None)

    @contextmanager
    def _first_token_alone(self):
        """Context in which the classifier computes only the [CLS] position after its last attention layer.

        No other position is read; a model of six layers saves an eighth of the work. Only for models with
        BERT's module names, and not in training, where dropout would draw other numbers.
        """
        base = getattr(self.model, "base_model", None)
        last = getattr(getattr(base, "encoder", None), "layer", [None])[-1]
        output = getattr(getattr(last, "attention", None), "output", None)
        if output is None or self.model.training:
            yield
            return
        hook = output.register_forward_pre_hook(lambda module, args: tuple(x[:, :1] for x in args))
        try:
            yield
        finally:
            hook.remove()

    @contextmanager
    def _embedding_factor(self, factor):
        """Context in which the output of the embedding layer is multiplied by `factor`, unless it is None."""
        if factor is None:
            yield
            return
        layer = self.model.base_model.embeddings
        hook = layer.register_forward_hook(lambda module, args, output: output * factor.to(output))
        try:
            yield
        finally:
            hook.remove()


def _widely(layer, args, output):
    """The output of a linear layer, computed in float32 whatever its weights and inputs are."""
    if layer.weight.is_meta:  # offloaded: back on its disk by now
        return output
    with torch.autocast(output.device.type, enabled=False):
        bias = None if layer.bias is None else widened(layer.bias)
        return linear(widened(args[0]), widened(layer.weight), bias)
