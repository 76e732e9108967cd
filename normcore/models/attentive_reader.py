"""The attentive reader (Hermann et al. 2015, arXiv:1506.03340, section 3), in the form of RBN section 5.4.

Shapes: T words of a text, Q words of a question, B examples, D numbers for a word that was read, H hidden units, V
words in the vocabulary.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from normcore.initialization import init_scaled_block_
from normcore.models.build import Build
from normcore.models.words import Words
from normcore.spec.models import attentive_reader as spec


class AttentiveReader(nn.Module):
    """Model that answers a question on a text: logits over the vocabulary.

    The authors' code adds the bias of the LSTMs twice. Here the bias is added once; it starts at 0, too, and learns
    half as fast.
    """

    def __init__(self, build: Build, options: spec.AttentiveReaderModel, words: int) -> None:
        super().__init__()
        hidden, read = options.hidden_size, options.read_size
        self.options = options
        self.embedding = nn.Embedding(words, options.embedding_size)
        self.text = build.recurrent(options.recurrent, options.embedding_size)
        self.question = build.recurrent(options.recurrent, options.embedding_size)
        self.similarity = nn.Linear(read, hidden, bias=False)  # A
        self.attend_text = nn.Linear(read, hidden, bias=False)  # W_d
        self.attend_question = nn.Linear(read, hidden)  # W_q, b
        self.weigh = nn.Linear(hidden, 1, bias=False)  # w
        self.answer_read = nn.Linear(read, hidden, bias=False)  # W_r
        self.answer_question = nn.Linear(read, hidden)  # W_u, b'
        self.answer_mean = nn.Linear(read, hidden, bias=False)  # W_m
        self.output = nn.Linear(hidden, words)
        self.norms = nn.ModuleDict(
            {
                name: build.norm_at("layer", (hidden,))
                for name in ("attend_text", "attend_question", "answer_read", "answer_question", "answer_mean")
            }
        )
        self.dropout = nn.Dropout(options.dropout)
        self._init_weights()
        for name in self.norms:
            build.parametrize("layer", self.get_submodule(name), "weight")

    def _init_weights(self) -> None:
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2 and not name.startswith(("text", "question")):
                init_scaled_block_(parameter.data)
            elif name.endswith("bias") and not name.startswith(("text", "question", "norms")):
                nn.init.zeros_(parameter)
        if self.options.weights == "repeated":
            _repeat(self)
        if self.options.readout == "normal":
            nn.init.normal_(self.output.weight)

    def forward(self, text: Words, question: Words) -> Tensor:
        """Compute the logits (B, V) of the answer to ``question`` on ``text``."""
        text, question = self._fill_padding(text), self._fill_padding(question)
        d = self._read(self.text, text)  # (T, B, D)
        u = self._last(question)  # (B, D)
        alpha = self._attention(d, u, text.there)  # (T, B)
        r = (alpha.unsqueeze(2) * d).sum(0)
        there = text.there.unsqueeze(2).to(d)
        mean = (there * d).sum(0) / there.sum(0)
        out = torch.tanh(self._map("answer_read", r) + self._map("answer_question", u) + self._map("answer_mean", mean))
        logits: Tensor = self.output(self.dropout(out))
        return logits

    def attention(self, text: Words, question: Words) -> Tensor:
        """Compute the attention (T, B) to each word of the text; it adds up to 1 over the words of an example."""
        text, question = self._fill_padding(text), self._fill_padding(question)
        return self._attention(self._read(self.text, text), self._last(question), text.there)

    def _fill_padding(self, words: Words) -> Words:
        return words.cycle_sequences() if self.options.padding == "cyclic" else words

    def _attention(self, d: Tensor, u: Tensor, there: Tensor) -> Tensor:
        """Compute alpha (T, B) from m_t = tanh(W_d d_t + b + W_q u + s_t), with s_t = (A d_t)' (A u)."""
        s = torch.einsum("tbh,bh->tb", self.similarity(d), self.similarity(u))
        steps, batch, _ = d.shape
        of_text = self._map("attend_text", d.flatten(0, 1)).view(steps, batch, -1)
        m = torch.tanh(of_text + self._map("attend_question", u) + s.unsqueeze(2))
        logits: Tensor = self.weigh(m).squeeze(2)
        return logits.masked_fill(~there, -torch.inf).softmax(0)

    def _map(self, name: str, a: Tensor) -> Tensor:
        """Compute W a with the linear map ``name``, normalize it if the method has this place, and add the bias if the
        map has one."""
        linear = self.get_submodule(name)
        assert isinstance(linear, nn.Linear)
        normalized: Tensor = self.norms[name](F.linear(a, linear.weight))
        return normalized if linear.bias is None else normalized + linear.bias

    def _read(self, network: nn.Module, words: Words) -> Tensor:
        y: Tensor
        y, _ = network(self.dropout(self.embedding(words.codes)), words.lengths, longest=words.longest)
        return y

    def _last(self, question: Words) -> Tensor:
        """Return the question's last states (B, D): forwards after the last word, backwards after the first word."""
        _, end = self.question(self.dropout(self.embedding(question.codes)), question.lengths, longest=question.longest)
        return torch.cat([state.h for state in end.cells], -1)


def _repeat(model: nn.Module) -> None:
    """Make every matrix, and every gate's block, equal to the first one of the same shape. Shapes
    are compared as (inputs, outputs): the embedding is V x D, the readout H x V."""
    first: dict[tuple[int, ...], Tensor] = {}
    for name, parameter in model.named_parameters():
        if parameter.dim() != 2 or name.startswith("norms"):
            continue
        is_gated = name.rpartition(".")[2].startswith("weight_") and name.startswith(("text", "question"))
        for block in parameter.data.chunk(4) if is_gated else [parameter.data]:
            shape = block.shape if name == "embedding.weight" else block.shape[::-1]
            block.copy_(first.setdefault(tuple(shape), block.clone()))
