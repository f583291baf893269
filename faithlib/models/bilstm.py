"""The BiLSTM with additive attention of Jain & Wallace (2019), as Madsen et al. (2022) use it.

It has the interface of the encoders, with one attention layer of one head, read at [CLS]. An input is
`[CLS] text [EOS]`; in a model for pairs `[CLS] text_b [EOS]` follows, with token type 1. Only the words of
`text` receive attention.
"""

from functools import cache

import torch
from torch import nn
from torch.nn.functional import pad
from transformers import AutoConfig, AutoModelForSequenceClassification, PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput

NO_ATTENTION = torch.finfo(torch.float32).min  # added to the logarithm of attention


class BiLSTMConfig(PreTrainedConfig):
    """Sizes and precision of a BiLSTMAttention.

    Attributes:
        width: of an embedding.
        hidden: of each direction of an LSTM, and of the attention.
        paired: whether inputs have a text and a text_b.
        precision: of the LSTMs' computations, "float32" or "bfloat16" (autocast, which not every processor
            has); weights are stored, and everything else is computed, in float32.
    """

    model_type = "bilstm-attention"
    attribute_map = {"hidden_size": "width"}  # as others call the width of their embedding layer

    vocab_size: int = 5
    width: int = 300
    hidden: int = 128
    paired: bool = False
    precision: str = "float32"
    pad_token_id: int | None = 0
    type_vocab_size: int = 2
    max_position_embeddings: int = 1_000_000  # it has no positions, so any length is possible


class BiLSTMAttention(PreTrainedModel):
    """A BiLSTM with attention (Madsen et al. 2022, appendix C.1, Eq. 4 and 5), for a text or for a pair.

    h_i are the states of a BiLSTM over `text`, α_i ∝ exp(vᵀ tanh(W h_i + b)) over its words, c = Σ α_i h_i;
    the logits are linear in c. In a model for pairs, q holds the last states of both directions of a second
    BiLSTM over text_b, α_i ∝ exp(vᵀ tanh(W h_i + W_b q + b)), and the logits are linear in
    tanh(U c + U_b q + d), the dense layer of the release. Both BiLSTMs use one embedding table, as in the
    paper.
    """

    config_class = BiLSTMConfig
    base_model_prefix = "encoder"

    def __init__(self, config):
        super().__init__(config)
        states, hidden = 2 * config.hidden, config.hidden
        self.encoder = _Encoder(config)
        self.attention = nn.ModuleDict({"text": nn.Linear(states, hidden)})
        self.attention["v"] = nn.Linear(hidden, 1, bias=False)
        if config.paired:
            self.attention["text_b"] = nn.Linear(states, hidden, bias=False)
            self.dense = nn.ModuleDict({"text": nn.Linear(states, hidden)})
            self.dense["text_b"] = nn.Linear(states, hidden, bias=False)
        self.classifier = nn.Linear(hidden if config.paired else states, config.num_labels)
        self.post_init()

    @property
    def lightness(self):
        """How many tokens of this model cost as much as one token of an encoder of width 384."""
        return max(4, 384 // self.config.width)

    def get_input_embeddings(self):
        return self.encoder.words

    def _init_weights(self, module):
        if isinstance(module, nn.Embedding | nn.Linear | nn.LSTM):
            module.reset_parameters()  # torch's defaults: embeddings N(0, 1), 0 for padding

    def forward(
        self,
        inputs_embeds,
        attention_mask,
        token_type_ids,
        output_attentions=False,
        output_hidden_states=False,
    ):
        """Class logits and, on request, attention and hidden states.

        Args:
            inputs_embeds: (batch, tokens, width), right-padded.
            attention_mask: (batch, tokens), 1 at present tokens; or (batch, 1, tokens, tokens), whose first
                row is added to the logarithm of attention.
            token_type_ids: (batch, tokens), 1 in text_b.

        Returns:
            logits: (batch, classes). attentions: one layer, (batch, 1, tokens, tokens), each row of which is
            α. hidden_states: the embeddings, and the states of `text`, (batch, tokens, 2 hidden).

        Raises:
            ValueError: a text_b in a model for single texts.
        """
        embedded = self.encoder.embeddings(inputs_embeds)
        bias, lengths, lengths_b = _bias_and_lengths(attention_mask, token_type_ids)
        if not self.config.paired and lengths_b.any():
            raise ValueError("this BiLSTM reads single texts: load it with paired=True for a text_b")
        longest, tokens = int(lengths.max()), embedded.shape[1]
        states, _ = self.encoder.text(embedded[:, :longest], lengths)  # (batch, longest, 2 hidden)
        keys = self.attention["text"](states)  # (batch, longest, hidden)
        if self.config.paired:
            at = lengths[:, None] + torch.arange(int(lengths_b.max()), device=lengths.device)
            text_b = _gathered(embedded, at.clamp(max=embedded.shape[1] - 1))  # shifted to start at 0
            _, q = self.encoder.text_b(text_b, lengths_b)  # (batch, 2 hidden)
            keys = keys + self.attention["text_b"](q)[:, None]
        scores = self.attention["v"](keys.tanh())[..., 0]  # (batch, longest)
        alpha = _softmax(scores, bias[:, :longest], lengths)  # (batch, longest)
        layers = None
        if output_attentions:
            layers = (pad(alpha, (0, tokens - longest))[:, None, None].expand(-1, -1, tokens, -1),)
            alpha = layers[0][:, 0, 0, :longest]  # so that the logits depend on the returned layer
        c = (alpha[:, None] @ states)[:, 0]  # (batch, 2 hidden)
        if self.config.paired:
            c = (self.dense["text"](c) + self.dense["text_b"](q)).tanh()  # (batch, hidden)
        hidden = (embedded, pad(states, (0, 0, 0, tokens - longest))) if output_hidden_states else None
        return SequenceClassifierOutput(logits=self.classifier(c), hidden_states=hidden, attentions=layers)


class _Encoder(nn.Module):
    """The embeddings and the BiLSTMs; its parameters are trained with the learning rate of an encoder."""

    def __init__(self, config):
        super().__init__()
        self.words = nn.Embedding(config.vocab_size, config.width, padding_idx=config.pad_token_id)
        self.embeddings = nn.Identity()  # its output is where metrics erase embeddings
        self.text = _BiLSTM(config)
        self.text_b = _BiLSTM(config) if config.paired else None


class _BiLSTM(nn.Module):
    """Two LSTMs over padded rows, one of them reversed; on a CPU 2.4 times as fast as packed sequences."""

    def __init__(self, config):
        super().__init__()
        self.ahead, self.back = (_LSTM(config.width, config.hidden, batch_first=True) for _ in range(2))
        self.precision = getattr(torch, config.precision)
        torch.backends.cudnn.allow_tf32 = False  # float32 is float32: cuDNN's LSTMs would round to ten bits
        if not has_lstm(self.precision):
            raise ValueError(f"torch has no {config.precision} LSTM for this processor: use float32 or a GPU")

    def forward(self, x, lengths):
        """States (batch, tokens, 2 hidden), undefined from `lengths` on, and the last (batch, 2 hidden)."""
        at, last = torch.arange(x.shape[1], device=x.device), lengths[:, None] - 1
        backwards = torch.where(at <= last, last - at, at)  # (batch, tokens)
        with torch.autocast(x.device.type, self.precision, enabled=self.precision != torch.float32):
            ahead, back = self.ahead(x)[0].to(x), self.back(_gathered(x, backwards))[0].to(x)
        last_states = torch.cat([_gathered(ahead, last), _gathered(back, last)], -1)[:, 0]
        return torch.cat([ahead, _gathered(back, backwards)], -1), last_states


@cache
def has_lstm(precision):
    """Whether torch computes LSTMs in a dtype here: on the processor, or on a GPU."""
    try:
        with torch.random.fork_rng(devices=[]), torch.autocast("cpu", precision, precision != torch.float32):
            nn.LSTM(1, 1)(torch.zeros(1, 1))
    except RuntimeError:
        return torch.cuda.is_available()
    return True


class _LSTM(nn.LSTM):
    """An LSTM that stays in training mode, as cuDNN's gradients require; it has no dropout."""

    def train(self, mode=True):
        return super().train()


def _gathered(x, at):
    """The tokens `at`, (batch, n), of (batch, tokens, width): (batch, n, width)."""
    return x.gather(1, at[..., None].expand(-1, -1, x.shape[-1]))


def _bias_and_lengths(attention_mask, token_type_ids):
    """The bias added to log attention, (batch, tokens), and the lengths of text and text_b, (batch,)."""
    if attention_mask.ndim == 4:
        bias = attention_mask[:, 0, 0]
    else:
        bias = torch.where(attention_mask > 0, 0.0, NO_ATTENTION)
    # Words of the text may be masked, but its last token, [EOS], never is.
    total = ((bias > NO_ATTENTION) * torch.arange(1, bias.shape[1] + 1, device=bias.device)).amax(1)
    in_b = token_type_ids.sum(1)
    return bias, total - in_b, in_b


def _softmax(scores, bias, lengths):
    """α over the words, which are neither [CLS] nor [EOS]; 0 everywhere if all words are masked."""
    at = torch.arange(scores.shape[1], device=scores.device)
    word = (at > 0) & (at < lengths[:, None] - 1) & (bias > NO_ATTENTION)
    return (scores + bias).masked_fill(~word, NO_ATTENTION).softmax(-1) * word


AutoConfig.register(BiLSTMConfig.model_type, BiLSTMConfig)
AutoModelForSequenceClassification.register(BiLSTMConfig, BiLSTMAttention)
