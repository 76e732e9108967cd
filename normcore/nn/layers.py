"""Recurrent layers with the interface of ``torch.nn``, and with norms.

Shapes: T steps, B examples, F inputs, H hidden units, G gates, L layers, D directions (1 or 2).
"""

from collections.abc import Iterable, Mapping
from copy import copy
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self, cast

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from normcore import cells, norms
from normcore.cells import gru, lstm, rnn
from normcore.cells.cell import HiddenState
from normcore.cells.view import IDENTITY, CellView
from normcore.nn.options import Statistics, check_dimensions, check_dropout, check_sizes, read_cell, read_norm
from normcore.nn.stretches import unroll_stretches
from normcore.norms.normalization import Identity
from normcore.norms.population import batch_norms, population_statistics
from normcore.recurrent.stack import reverse_time
from normcore.recurrent.unroll import take_in_moments
from normcore.spec.methods.method import Method

MOMENTUM = 0.1  # of running statistics, as in nn.BatchNorm1d, where a method has no option for it
KERNELS = ("auto", "fused", "reference")
SITES = ("norm_x", "norm_h", "norm_sum", "norm_c")


class _Names(NamedTuple):
    """Names of the parameters of a layer's direction, and by site of its norms."""

    weight_ih: str
    weight_hh: str
    bias_ih: str
    bias_hh: str
    sites: dict[str, str]


class Layer(nn.Module):
    """Recurrent layers of one kind of cell, with torch's arguments, names of weights, shapes and order of gates.

    Each layer and direction has the weights ``weight_ih_l0`` W_x (G H, F) and ``weight_hh_l0`` W_h (G H, H), and with
    ``bias`` the biases ``bias_ih_l0`` and ``bias_hh_l0`` (G H). Names of further layers end with their number, and
    those of the backward direction with ``_reverse``. Norms are submodules ``norm_x_l0`` (of W_x x), ``norm_h_l0``
    (of W_h h), ``norm_sum_l0`` (of the sum of both) and ``norm_c_l0`` (of the cell c). First states that are trained
    are ``h0_l0`` and ``c0_l0`` (H).

    Args:
        norm: a method's tag; or a mapping of its options, as in a spec; or a ``Method``. With a norm over the batch,
            the mapping may have ``track_running_stats`` and ``max_steps``, too.
        kernel: ``auto`` for the fastest implementation that works here, ``fused`` or ``reference``.
        options: the cell's own options, as in a spec. By default they are what torch does.

    Raises:
        TypeError: a size is not a whole number, or ``bias`` is not a bool.
        ValueError: an argument does not fit; the message names it.
    """

    TAG: ClassVar[str]
    CELL: ClassVar[Any]
    STATE: ClassVar[Any] = HiddenState

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        *,
        norm: str | Mapping[str, Any] | Method = "none",
        kernel: str = "auto",
        device: Any = None,
        dtype: torch.dtype | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        self.kernel = kernel
        if not isinstance(bias, bool):
            raise TypeError(
                f"bias should be of type bool, got: {type(bias).__name__}; an RNN takes no nonlinearity here"
            )
        check_sizes(input_size, hidden_size, num_layers)
        check_dropout(dropout, num_layers)
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout, self.bidirectional = bias, batch_first, dropout, bidirectional
        self.directions = 2 if bidirectional else 1
        sizes = {"hidden_size": hidden_size, "num_layers": num_layers, "bidirectional": bidirectional}
        self.options = read_cell(self.TAG, sizes, options)
        self.norm, self.statistics = read_norm(norm, self.options)
        self.suffixes = [f"_l{k}{way}" for k in range(num_layers) for way in ("", "_reverse")[: self.directions]]
        normalization = norms.build(self.norm)
        self._bias_place = normalization.bias
        self._carries_normalized_cell = normalization.carries_normalized_cell
        self._noise = normalization.initial_state_noise
        self._by_stretches = self.norm.needs_batch(self.options) and not self.norm.whole_sequences
        self._names: list[_Names] = []
        self._trained: tuple[str, ...] = ()
        for k, suffix in enumerate(self.suffixes):
            self._add(suffix, input_size if k < self.directions else hidden_size * self.directions, normalization)
        self._begin_statistics()
        self.register_load_state_dict_post_hook(_choose_again)  # type: ignore[no-untyped-call]
        self.to(device=device, dtype=dtype)

    def _add(self, suffix: str, size: int, normalization: norms.Normalization) -> None:
        """Make the weights, first states and norms of a layer's direction that reads ``size`` numbers a step."""
        bare = copy(normalization)
        object.__setattr__(bare, "parametrize", lambda *_: None)
        cell: Any = cells.build(self.options, size, bare)
        for name in ("weight_ih", "weight_hh"):
            self.register_parameter(name + suffix, getattr(cell, name))
        if self.bias:
            for name, bias in zip(("bias_ih", "bias_hh"), self._first_biases(cell, normalization), strict=True):
                self.register_parameter(name + suffix, nn.Parameter(bias))
        trained = (part for part in self.STATE._fields if isinstance(getattr(cell, f"{part}0"), nn.Parameter))
        self._trained = tuple(trained)
        for part in self._trained:
            self.register_parameter(f"{part}0{suffix}", getattr(cell, f"{part}0"))
        sites = {site: site + suffix for site in SITES if not isinstance(getattr(cell, site, IDENTITY), Identity)}
        for site, name in sites.items():
            self.add_module(name, getattr(cell, site))
        weights = [name + suffix for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
        self._names.append(_Names._make((*weights, sites)))
        normalization.parametrize(self, f"weight_ih{suffix}", f"weight_hh{suffix}")

    def _first_biases(self, cell: Any, normalization: norms.Normalization) -> tuple[Tensor, Tensor]:
        """Return the initial values of both biases (G H). By default each is drawn as torch draws it."""
        first = cell.bias.detach()
        if self.options.recurrent_init != "uniform":
            return first, torch.zeros_like(first)
        bound = self.hidden_size**-0.5
        drawn, second = (torch.empty_like(first).uniform_(-bound, bound) for _ in range(2))
        if normalization.bias_init:
            drawn += torch.empty_like(first).uniform_(-normalization.bias_init, normalization.bias_init)
        if self.TAG == "lstm":
            drawn[self.hidden_size : 2 * self.hidden_size] += cast(Any, self.options).forget_bias
        return drawn, second

    def _begin_statistics(self) -> None:
        """Let the norms over the batch keep statistics as ``nn.BatchNorm1d``, which begin with mean 0 and variance 1.

        Raises:
            ValueError: there are no such norms, and options of statistics were given.
        """
        tracked, max_steps = self.statistics
        found = batch_norms(self).values()
        if not found and self.statistics != Statistics():
            raise ValueError(f"norm: {self.norm.method} keeps no statistics; remove track_running_stats and max_steps")
        for norm in found:
            if not hasattr(self.norm, "population"):
                norm.momentum = MOMENTUM
            if not tracked:
                norm.uses_batch, norm.momentum = True, None
            norm.standard_if_unknown = norm.momentum is not None
            if max_steps is not None and norm.momentum is not None:
                norm.running_mean = norm.running_mean.new_zeros(max_steps, norm.running_mean.shape[1])
                norm.running_var = torch.ones_like(norm.running_mean)

    def _apply(self, *of: Any, **named: Any) -> Self:
        super()._apply(*of, **named)  # type: ignore[no-untyped-call]
        self._choose_kernel()
        return self

    @property
    def kernel(self) -> str:
        """Implementation of the loop over time: ``auto``, ``fused`` or ``reference``. It can be changed."""
        return self._kernel

    @kernel.setter
    def kernel(self, kernel: str) -> None:
        if kernel not in KERNELS:
            raise ValueError(f"kernel: expected {', '.join(KERNELS)}, received {kernel!r}")
        if "_unroll" in vars(self):
            self._choose_kernel(kernel)
        self._kernel = kernel

    def _choose_kernel(self, kernel: str | None = None) -> None:
        """Choose the implementation of the loop over time for the weights' device and type."""
        from normcore import kernels  # here, as importing the library should take little longer than importing torch

        weight = next(self.parameters())
        self._kernel_is_for = weight.device, weight.dtype
        wanted = "reference" if weight.is_meta else kernel or self.kernel
        _, self._unroll = kernels.choose(wanted, self.options, self.norm, weight.device, weight.dtype)

    def __getstate__(self) -> dict[str, Any]:
        return {name: part for name, part in self.__dict__.items() if name != "_unroll"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)  # type: ignore[no-untyped-call]
        self._choose_kernel()  # this machine may have other kernels

    def extra_repr(self) -> str:
        told = [f"{self.input_size}, {self.hidden_size}"]
        usual = {"num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0, "bidirectional": False}
        told += [f"{name}={getattr(self, name)}" for name in usual if getattr(self, name) != usual[name]]
        return ", ".join([*told, f"norm={self.norm.method}"])

    def flatten_parameters(self) -> None:
        """Do nothing: torch's layers lay their weights side by side for cuDNN."""

    def forward(self, x: Tensor | PackedSequence, hx: Any = None) -> tuple[Any, Any]:
        """Read sequences.

        Args:
            x: (T, B, F); (B, T, F) with ``batch_first``; (T, F) for a single sequence; or a ``PackedSequence``.
            hx: first states (L D, B, H), or (L D, H) for a single sequence: h_0, and for an LSTM (h_0, c_0). None
                begins with zeros, or with the trained first states.

        Returns:
            The last layer's h at every step, (T, B, D H) in the form of x; and the last states in the form of ``hx``.

        Raises:
            RuntimeError: shapes or devices do not fit.
            ValueError: the type or the number of dimensions of x does not fit; or there is only one example, and the
                norm takes statistics over the examples.
        """
        if isinstance(x, PackedSequence):
            return self._read_packed(x, hx)
        self._check_input(x, (2, 3))
        single = x.dim() == 2
        if single:
            x = x.unsqueeze(1)
        elif self.batch_first:
            x = x.transpose(0, 1)
        if x.shape[0] == 0:
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
        y, ends = self._run(x, self._first_states(hx, x, single))
        if single:
            return y.squeeze(1), self._form(tuple(part.squeeze(1) for part in ends))
        return y.transpose(0, 1) if self.batch_first else y, self._form(ends)

    def _read_packed(self, packed: PackedSequence, hx: Any) -> tuple[PackedSequence, Any]:
        """Read packed sequences in the order in which they are packed, the longest first."""
        self._check_input(packed.data, (2,))
        x, lengths = pad_packed_sequence(PackedSequence(packed.data, packed.batch_sizes))
        states = self._first_states(hx, x, False)
        if states is not None and packed.sorted_indices is not None:
            states = tuple(part.index_select(1, packed.sorted_indices) for part in states)
        y, ends = self._run(x, states, packed.batch_sizes)
        if packed.unsorted_indices is not None:
            ends = tuple(part.index_select(1, packed.unsorted_indices) for part in ends)
        data = pack_padded_sequence(y, lengths).data
        return packed._replace(data=data), self._form(ends)

    def _run(
        self, x: Tensor, states: tuple[Tensor, ...] | None, batch_sizes: Tensor | None = None
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Run all layers and directions over x (T, B, F); return y (T, B, D H) and the last states (L D, B, H)."""
        dtype = self._parameter("weight_hh_l0").dtype
        if x.dtype != dtype:
            x = x.to(dtype)
        mask = None if batch_sizes is None else _mask(batch_sizes, x)
        ends = []
        for layer in range(self.num_layers):
            if layer and self.dropout and self.training:
                x = functional.dropout(x, self.dropout)
            outputs = []
            for direction in range(self.directions):
                k = layer * self.directions + direction
                cell = self.view(k)
                start = self.STATE(*(part[k] for part in states)) if states else self.own_state(k, x)
                y, end = self._unroll_cell(cell, reverse_time(x, mask) if direction else x, start, mask, batch_sizes)
                outputs.append(reverse_time(y, mask) if direction else y)
                ends.append(end)
            x = outputs[0] if self.directions == 1 else torch.cat(outputs, -1)
        if len(ends) == 1:
            return x, tuple(part.unsqueeze(0) for part in ends[0])
        return x, tuple(torch.stack(parts) for parts in zip(*ends, strict=True))

    def _unroll_cell(
        self, cell: CellView, x: Tensor, start: Any, mask: Tensor | None, batch_sizes: Tensor | None
    ) -> tuple[Tensor, Any]:
        """Unroll a layer's direction, and let its norms take in the moments."""
        if batch_sizes is not None and self._by_stretches and any(n.takes_batch for n in batch_norms(self).values()):
            take_in = partial(self._take_in, cell)
            return unroll_stretches(self._unroll, cell, cell.norms, x, start, batch_sizes, take_in)
        y, end, moments = self._unroll(cell, x, start, 0, mask)
        if moments:
            self._take_in(cell, moments, 0)
        return y, end

    def _parameter(self, name: str) -> Tensor:
        """Return a parameter. ``getattr`` takes longer, and finds parametrized ones, too."""
        own = self._parameters.get(name)
        parameter: Tensor = getattr(self, name) if own is None else own
        return parameter

    def view(self, k: int) -> CellView:
        """Lend the weights and norms of a layer's direction to a cell."""
        names = self._names[k]
        weight_ih, weight_hh = self._parameter(names.weight_ih), self._parameter(names.weight_hh)
        biases: tuple[Tensor, Tensor | None]
        if self.bias:
            biases = self._parameter(names.bias_ih), self._parameter(names.bias_hh)
        else:
            biases = weight_hh.new_zeros(len(weight_hh)), None
        norms: Any = {site: self._modules[name] for site, name in names.sites.items()}
        return CellView(self.CELL, weight_ih, weight_hh, biases, self._bias_place, norms, self._carries_normalized_cell)

    def own_state(self, k: int, x: Tensor) -> Any:
        """Return the first state of a layer's direction: zeros or trained numbers, in training with the norm's
        noise."""
        zeros = x.new_zeros(x.shape[1], self.hidden_size)
        if not self._trained and not self._noise:
            return self.STATE(*[zeros] * len(self.STATE._fields))
        parts = [
            getattr(self, f"{part}0{self.suffixes[k]}").expand_as(zeros) if part in self._trained else zeros
            for part in self.STATE._fields
        ]
        if self._noise and self.training:
            parts[0] = parts[0] + self._noise * torch.randn_like(parts[0])
        return self.STATE(*parts)

    def _take_in(self, cell: CellView, moments: Mapping[str, Tensor], t: int) -> None:
        longest = self.statistics.max_steps
        if longest is None or t < longest:
            kept = {name: part[:, : None if longest is None else longest - t] for name, part in moments.items()}
            take_in_moments(cast(nn.Module, cell), kept, t)

    def calibrate(self, batches: Iterable[Tensor | PackedSequence]) -> None:
        """Compute the statistics that evaluation uses, for norms over the batch: at each step the average of the means
        and biased variances of all batches (Cooijmans et al. 2017, section 3). Steps beyond the longest sequence have
        the statistics of the last step.

        Args:
            batches: inputs as of ``forward``.

        Raises:
            TypeError: a batch is no input, such as the pairs of a data loader with targets.
            ValueError: there is no batch, or the layer keeps no statistics.
        """
        if not batch_norms(self) or not self.statistics.tracked:
            raise ValueError("calibrate: this layer has no statistics of a population")
        training = self.training
        try:
            with torch.no_grad(), population_statistics(self.eval()):
                for x in batches:
                    if not isinstance(x, Tensor | PackedSequence):
                        raise TypeError(
                            f"calibrate: expected batches of inputs, received a {type(x).__name__};"
                            " for pairs (x, y), write layer.calibrate(x for x, y in batches)"
                        )
                    self(x)
        finally:
            self.train(training)
        for norm in batch_norms(self).values():
            if self.statistics.max_steps is not None:
                steps = torch.arange(self.statistics.max_steps).clamp(max=len(norm.running_mean) - 1)
                norm.running_mean, norm.running_var = norm.running_mean[steps], norm.running_var[steps]

    def _first_states(self, hx: Any, x: Tensor, single: bool) -> tuple[Tensor, ...] | None:
        """Check the first states, and return them as (L D, B, H). None if there are none."""
        if hx is None:
            return None
        states = (hx,) if self.STATE is HiddenState else tuple(hx)
        expected = (len(self.suffixes), x.shape[1], self.hidden_size)
        if len(states) != len(self.STATE._fields):
            raise RuntimeError(f"Expected {len(self.STATE._fields)} hidden states, got {len(states)}")
        check_dimensions([state.dim() for state in states], single)
        for k, state in enumerate(states):
            found = [len(state), 1, *state.shape[1:]] if single else list(state.shape)
            if found != list(expected):
                which = "hidden" if len(states) == 1 else f"hidden[{k}]"
                raise RuntimeError(f"Expected {which} size {expected}, got {found}")
            if state.dtype != x.dtype and not torch.is_autocast_enabled(x.device.type):
                raise RuntimeError(
                    "Input and hidden tensors are not the same dtype, found input tensor with"
                    f" {x.dtype} and hidden tensor with {state.dtype}"
                )
            if state.device != x.device:
                raise RuntimeError(
                    "Input and hidden tensors are not at the same device, found input tensor at"
                    f" {x.device} and hidden tensor at {state.device}"
                )
        weight = self._parameter("weight_hh_l0")
        return tuple((state.unsqueeze(1) if single else state).to(weight.dtype) for state in states)

    def _check_input(self, x: Tensor, dimensions: tuple[int, ...]) -> None:
        weight = self._parameter("weight_hh_l0")
        if x.dim() not in dimensions:
            found = f"{x.dim()}D tensor" if self.TAG == "rnn" else f"{x.dim()}D"
            raise ValueError(f"{self.TAG.upper()}: Expected input to be 2D or 3D, got {found} instead")
        if x.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {x.shape[-1]}"
            )
        if x.device != weight.device:
            raise RuntimeError(
                "Input and parameter tensors are not at the same device, found input tensor at"
                f" {x.device} and parameter tensor at {weight.device}"
            )
        if x.dtype == torch.float16 or weight.dtype == torch.float16:
            raise RuntimeError(
                "float16 is too narrow for statistics over a layer; use float32 weights, with torch.autocast in"
                " bfloat16 if you want its speed"
            )
        if x.dtype != weight.dtype and not torch.is_autocast_enabled(x.device.type):
            raise ValueError(
                f"RNN input dtype ({x.dtype}) does not match weight dtype ({weight.dtype}). Convert input:"
                f" input.to({weight.dtype}), or convert model: model.to({x.dtype})"
            )

    def _form(self, states: tuple[Tensor, ...]) -> Any:
        return states[0] if len(states) == 1 else states


def _choose_again(layer: Layer, _: Any) -> None:
    """Choose a kernel again if the weights that were assigned are on another device, or of another type."""
    weight = next(layer.parameters())
    if (weight.device, weight.dtype) != layer._kernel_is_for:
        layer._choose_kernel()


def _mask(batch_sizes: Tensor, x: Tensor) -> Tensor:
    """Return a mask (T, B), true at the steps that each sequence has."""
    return torch.arange(x.shape[1], device=x.device) < batch_sizes.to(x.device).unsqueeze(1)


class LSTM(Layer):
    __doc__ = f"Long short-term memory as ``torch.nn.LSTM``, with norms. {Layer.__doc__}"
    TAG, CELL, STATE = "lstm", lstm.LSTM, lstm.LSTMState


class GRU(Layer):
    __doc__ = f"Gated recurrent unit as ``torch.nn.GRU``, with norms. {Layer.__doc__}"
    TAG, CELL = "gru", gru.GRU


class RNN(Layer):
    __doc__ = f"Simple recurrent network with tanh as ``torch.nn.RNN``, with norms. {Layer.__doc__}"
    TAG, CELL = "rnn", rnn.RNN
