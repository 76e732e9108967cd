"""A second implementation of cells and normalizations, written from the papers' equations.

It computes one example and one step at a time, with torch scalars and vectors only, so that autograd gives the
gradients. It is slow on purpose. Parameters have their names in a one-layer ``Recurrent`` without the prefix
``cells.0.``.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

WRITTEN = (
    "none",
    "layer_norm",
    "rms_norm",
    "dynamic_tanh",
    "recurrent_batch_norm",
    "sequence_batch_norm",
    "weight_norm",
)
"""The methods whose equations stand here."""
CONSTANT = 1e-12
BLOCKS = {"rnn": (1,), "lstm": (4,), "gru": (2, 1)}
State = dict[str, Tensor]
Moments = tuple[Tensor, Tensor]
"""Mean and variance."""
Statistics = dict[tuple[str, int], Moments]
"""Moments by site and step."""


@dataclass
class Equations:
    """One cell with one method.

    Attributes:
        norm: all options of the method.
        population: population statistics; None to use the statistics of the present batch.
        seen: statistics of the present batch.
    """

    cell: str
    norm: dict[str, Any]
    parameters: dict[str, Tensor]
    population: Statistics | None = None
    seen: Statistics = field(default_factory=dict)

    def unroll(self, x: Tensor, lengths: list[int] | None = None) -> Tensor:
        """Compute hidden states (T, B, H) of x (T, B, F) from the trained first state. Padding repeats the state."""
        step = getattr(self, self.cell, None)
        assert step is not None, f"write the equations of {self.cell} as a method {self.cell} of Equations"
        examples = range(x.shape[1])
        lengths = lengths or [len(x) for _ in examples]
        start = {name: self.parameters[f"{name}0"] for name in ("h", "c") if f"{name}0" in self.parameters}
        state = [start for _ in examples]
        if self.norm["method"] == "sequence_batch_norm":
            inputs = [x[t, n] for n in examples for t in range(lengths[n])]
            self.sequence_statistics = mean_and_var([self.weight("weight_ih") @ x_n for x_n in inputs])
        outputs = []
        for t in range(len(x)):
            new = step(t, [x[t, n] for n in examples], state)
            state = [new[n] if t < lengths[n] else state[n] for n in examples]
            outputs.append(torch.stack([s["h"] for s in state]))
        return torch.stack(outputs)

    def learn_population(self, batches: list[Tensor]) -> None:
        """Set the population statistics from batches of training sequences (T, B, F) of any lengths."""
        passes = []
        for x in batches:
            self.seen = {}
            self.unroll(x)
            passes.append(self.seen)
        self.seen = {}
        self.population = {(site, t): self.over_passes(passes, site, t) for found in passes for site, t in found}
        if self.norm.get("statistics") == "shared":
            sites = {site for site, _ in self.population}
            self.population = {(site, 0): average(self.steps_of(self.population, site)) for site in sites}

    def over_passes(self, passes: list[Statistics], site: str, t: int) -> Moments:
        """Average at a step over the passes, where a shorter pass repeats its last step.

        Running averages take only the passes that have the step.
        """
        if self.norm.get("population") != "running":
            steps = [self.steps_of(found, site) for found in passes]
            return average([of_pass[min(t, len(of_pass) - 1)] for of_pass in steps])
        first, *later = [found[site, t] for found in passes if (site, t) in found]
        for new in later:
            newest = self.norm["momentum"]
            first = (first[0] * (1 - newest) + new[0] * newest, first[1] * (1 - newest) + new[1] * newest)
        return first

    @staticmethod
    def steps_of(statistics: Statistics, site: str) -> list[Moments]:
        return [moments for (of, _), moments in sorted(statistics.items(), key=lambda entry: entry[0]) if of == site]

    def weight(self, name: str) -> Tensor:
        if name in self.parameters:
            return self.parameters[name]
        length, direction = (self.parameters[f"parametrizations.{name}.original{k}"] for k in (0, 1))
        return torch.stack([g * v / (v * v).sum().sqrt() for g, v in zip(length, direction, strict=True)])

    def bias(self, place: str) -> Tensor:
        """Bias of the cell at a place, inside or outside; zeros if the method does not want the bias there."""
        wanted = self.norm.get("bias", "outside")
        return self.parameters["bias"] * (wanted in (place, "both"))

    def terms(self, t: int, x: list[Tensor], state: list[State]) -> tuple[list[Tensor], list[Tensor]]:
        """Compute the input's term and the recurrent term."""
        inputs = [self.weight("weight_ih") @ x_n + self.bias("inside") for x_n in x]
        states = [self.weight("weight_hh") @ s["h"] for s in state]
        blocks = BLOCKS[self.cell]
        return self.normalize("norm_x", t, inputs, blocks), self.normalize("norm_h", t, states, blocks)

    def summed(self, t: int, x: list[Tensor], state: list[State]) -> list[Tensor]:
        a_x, a_h = self.terms(t, x, state)
        a = self.normalize("norm_sum", t, [of_x + of_h for of_x, of_h in zip(a_x, a_h, strict=True)], BLOCKS[self.cell])
        return [a_n + self.bias("outside") for a_n in a]

    def rnn(self, t: int, x: list[Tensor], state: list[State]) -> list[State]:
        return [{"h": torch.tanh(a)} for a in self.summed(t, x, state)]

    def lstm(self, t: int, x: list[Tensor], state: list[State]) -> list[State]:
        size = len(self.parameters["h0"])
        cells, output_gates = [], []
        for a, s in zip(self.summed(t, x, state), state, strict=True):
            i, f, g, o = (a[k * size : (k + 1) * size] for k in range(4))
            cells.append(sigmoid(f) * s["c"] + sigmoid(i) * torch.tanh(g))
            output_gates.append(sigmoid(o))
        read = self.normalize("norm_c", t, cells)
        carried = read if self.norm.get("carry") == "normalized" else cells
        return [{"h": o * torch.tanh(r), "c": c} for o, r, c in zip(output_gates, read, carried, strict=True)]

    def gru(self, t: int, x: list[Tensor], state: list[State]) -> list[State]:
        size = len(self.parameters["h0"])
        gates, candidate = slice(0, 2 * size), slice(2 * size, 3 * size)
        outside = self.bias("outside")
        new = []
        for of_x, of_h, s in zip(*self.terms(t, x, state), state, strict=True):
            rz = sigmoid(of_x[gates] + of_h[gates] + outside[gates])
            r, z = rz[:size], rz[size:]
            proposed = torch.tanh(of_x[candidate] + outside[candidate] + r * of_h[candidate])
            new.append({"h": z * s["h"] + (1 - z) * proposed})
        return new

    def normalize(self, site: str, t: int, rows: list[Tensor], blocks: tuple[int, ...] = (1,)) -> list[Tensor]:
        """Normalize the summed inputs of all examples at one site and step."""
        gain = self.parameters.get(f"{site}.weight", torch.ones_like(rows[0]))
        shift = self.parameters.get(f"{site}.bias", torch.zeros_like(rows[0]))
        normalized = self.standardize(site, t, rows, blocks) if self.is_normalized(site) else None
        if normalized is None:
            return [row + shift for row in rows]
        return [gain * row + shift for row in normalized]

    def is_normalized(self, site: str) -> bool:
        if self.norm["method"] == "sequence_batch_norm":
            return site == "norm_x"
        if self.norm["method"] == "weight_norm":
            return self.norm["mean_only_batch_norm"] and site in ("norm_x", "norm_h")
        names = {"norm_x": "input", "norm_h": "recurrent", "norm_sum": "sum", "norm_c": "cell"}
        return names[site] in self.norm.get("sites", ())

    def standardize(self, site: str, t: int, rows: list[Tensor], blocks: tuple[int, ...]) -> list[Tensor]:
        method = self.norm["method"]
        if method == "dynamic_tanh":
            return [torch.tanh(self.parameters[f"{site}.alpha"] * row) for row in rows]
        if method in ("layer_norm", "rms_norm"):
            return [torch.cat([self.over_features(part) for part in self.parts(row, blocks)]) for row in rows]
        if method == "sequence_batch_norm":
            mean, var = self.of_population(site, 0, self.sequence_statistics)
            return [standardized(row, mean, var, self.norm["eps"]) for row in rows]
        mean, var = mean_and_var(rows)
        if method == "weight_norm":
            return [row - self.of_population(site, t, (mean, var))[0] for row in rows]
        if method != "recurrent_batch_norm":
            raise NotImplementedError(f"write the equation of {method} here, or take it out of WRITTEN")
        largest = torch.stack([(row - rows[0]).abs() for row in rows]).amax(0)
        mean, var = self.of_population(site, t, (mean, torch.where(largest < CONSTANT, 0.0, var)))
        return [torch.where(var == 0, 0.0, standardized(row, mean, var, self.norm["eps"])) for row in rows]

    def parts(self, row: Tensor, blocks: tuple[int, ...]) -> list[Tensor]:
        size = len(row) // sum(blocks)
        gates = [row[k * size : (k + 1) * size] for k in range(sum(blocks))]
        if self.norm.get("scope") == "per_gate":
            return gates
        ends = [sum(blocks[: k + 1]) for k in range(len(blocks))]
        return [torch.cat(gates[end - block : end]) for block, end in zip(blocks, ends, strict=True)]

    def over_features(self, part: Tensor) -> Tensor:
        if self.norm["method"] == "rms_norm":
            size: Tensor = (total([value * value for value in part]) / len(part) + self.norm["eps"]) ** 0.5
            return part / size
        return standardized(part, *mean_and_var(list(part)), self.norm["eps"])

    def of_population(self, site: str, t: int, found: Moments) -> Moments:
        """Record the batch statistics ``found``; return the population statistics if there are any, else ``found``."""
        self.seen[site, t] = (found[0].detach(), found[1].detach())
        if self.population is None:
            return found
        steps = self.steps_of(self.population, site)
        return steps[min(t, len(steps) - 1)]


def average(moments: list[Moments]) -> Moments:
    means, variances = zip(*moments, strict=True)
    return total(means) / len(moments), total(variances) / len(moments)


def mean_and_var(values: list[Tensor]) -> Moments:
    mean = total(values) / len(values)
    return mean, total([(value - mean) ** 2 for value in values]) / len(values)


def total(values: Sequence[Tensor]) -> Tensor:
    first, *others = values
    return sum(others, first)


def standardized(value: Tensor, mean: Tensor, var: Tensor, eps: float) -> Tensor:
    return (value - mean) / (var + eps) ** 0.5


def sigmoid(a: Tensor) -> Tensor:
    return 1 / (1 + torch.exp(-a))
