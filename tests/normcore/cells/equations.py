"""The cells and normalizations once more, written from the papers' equations: one example and one step at a time.

Slow on purpose, and on torch scalars and vectors alone, so that autograd gives the gradients. Parameters go by the
names they have in a one-layer ``Recurrent``, less the prefix ``cells.0.``.
"""

from dataclasses import dataclass, field

import torch
from torch import Tensor

CONSTANT = 1e-12
State = dict[str, Tensor]


@dataclass
class Equations:
    """One cell under one method.

    Attributes:
        population: (mean, var) by site and step; None takes them from the examples at hand.
        seen: the statistics of the examples at hand.
    """

    cell: str
    method: str
    parameters: dict[str, Tensor]
    bias: str = "outside"
    eps: float = 1e-5
    population: dict[tuple[str, int], tuple[Tensor, Tensor]] | None = None
    seen: dict[tuple[str, int], tuple[Tensor, Tensor]] = field(default_factory=dict)

    def unroll(self, x: Tensor) -> Tensor:
        """x (T, B, F) -> the hidden states (T, B, H), from the trained first state."""
        step = getattr(self, self.cell)
        examples = range(x.shape[1])
        start = {name: self.parameters[f"{name}0"] for name in ("h", "c") if f"{name}0" in self.parameters}
        state = [start for _ in examples]
        outputs = []
        for t in range(len(x)):
            state = step(t, [x[t, n] for n in examples], state)
            outputs.append(torch.stack([s["h"] for s in state]))
        return torch.stack(outputs)

    def rnn(self, t: int, x: list[Tensor], state: list[State]) -> list[State]:
        p = self.parameters
        inside, outside = p["bias"] * (self.bias != "outside"), p["bias"] * (self.bias != "inside")
        a = [p["weight_ih"] @ x_n + p["weight_hh"] @ s["h"] + inside for x_n, s in zip(x, state, strict=True)]
        return [{"h": torch.tanh(a_n + outside)} for a_n in self.normalize("norm_sum", t, a)]

    def lstm(self, t: int, x: list[Tensor], state: list[State]) -> list[State]:
        p = self.parameters
        inside, outside = p["bias"] * (self.bias != "outside"), p["bias"] * (self.bias != "inside")
        size = len(p["h0"])
        a_x = self.normalize("norm_x", t, [p["weight_ih"] @ x_n + inside for x_n in x])
        a_h = self.normalize("norm_h", t, [p["weight_hh"] @ s["h"] for s in state])
        cells, output_gates = [], []
        for of_x, of_h, s in zip(a_x, a_h, state, strict=True):
            a = of_x + of_h + outside
            i, f, g, o = (a[k * size : (k + 1) * size] for k in range(4))
            cells.append(sigmoid(f) * s["c"] + sigmoid(i) * torch.tanh(g))
            output_gates.append(sigmoid(o))
        read = self.normalize("norm_c", t, cells)
        return [{"h": o * torch.tanh(r), "c": c} for o, r, c in zip(output_gates, read, cells, strict=True)]

    def gru(self, t: int, x: list[Tensor], state: list[State]) -> list[State]:
        p = self.parameters
        inside, outside = p["bias"] * (self.bias != "outside"), p["bias"] * (self.bias != "inside")
        size = len(p["h0"])
        gates, candidate = slice(0, 2 * size), slice(2 * size, 3 * size)
        a_x = [p["weight_ih"] @ x_n + inside for x_n in x]
        a_h = [p["weight_hh"] @ s["h"] for s in state]
        gates_x = self.normalize("norm_x_gates", t, [a[gates] for a in a_x])
        gates_h = self.normalize("norm_h_gates", t, [a[gates] for a in a_h])
        candidates_x = self.normalize("norm_x_candidate", t, [a[candidate] for a in a_x])
        candidates_h = self.normalize("norm_h_candidate", t, [a[candidate] for a in a_h])
        new = []
        for n, s in enumerate(state):
            rz = sigmoid(gates_x[n] + gates_h[n] + outside[gates])
            r, z = rz[:size], rz[size:]
            proposed = torch.tanh(candidates_x[n] + outside[candidate] + r * candidates_h[n])
            new.append({"h": z * s["h"] + (1 - z) * proposed})
        return new

    def normalize(self, site: str, t: int, rows: list[Tensor]) -> list[Tensor]:
        """What the method makes of one summed input, given for every example."""
        gain = self.parameters.get(f"{site}.weight")
        shift = self.parameters.get(f"{site}.bias", torch.zeros_like(rows[0]))
        if gain is None:
            return [row + shift for row in rows]
        if self.method == "layer_norm":
            return [gain * standardized(row, *mean_and_var(list(row)), self.eps) + shift for row in rows]
        mean, var = mean_and_var(rows)
        largest = torch.stack([(row - rows[0]).abs() for row in rows]).amax(0)
        var = torch.where(largest < CONSTANT, 0.0, var)
        self.seen[site, t] = (mean.detach(), var.detach())
        if self.population is not None:
            steps = 1 + max(step for of, step in self.population if of == site)
            mean, var = self.population[site, min(t, steps - 1)]
        return [torch.where(var == 0, 0.0, gain * standardized(row, mean, var, self.eps)) + shift for row in rows]


def mean_and_var(values: list[Tensor]) -> tuple[Tensor, Tensor]:
    mean = sum(values) / len(values)
    return mean, sum((value - mean) ** 2 for value in values) / len(values)


def standardized(value: Tensor, mean: Tensor, var: Tensor, eps: float) -> Tensor:
    return (value - mean) / (var + eps) ** 0.5


def sigmoid(a: Tensor) -> Tensor:
    return 1 / (1 + torch.exp(-a))
