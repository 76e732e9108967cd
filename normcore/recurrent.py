"""A cell over time, layers and directions.

Shapes: T steps, B examples, F inputs, H hidden units, D directions (1 or 2).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from normcore import cells, norms
from normcore.cells import State
from normcore.initialization import RecurrentInit
from normcore.norms.population import batch_norms
from normcore.spec.methods import METHODS
from normcore.spec.model import CELLS, RecurrentModel
from normcore.spec.norm import Method, NoNorm


class RecurrentState(NamedTuple):
    """All that is needed to go on where a sequence was left off.

    Attributes:
        cells: the state of every layer, the first layer first; of both directions, if there are two.
        t: the number of steps done, on which statistics per time step depend.
    """

    cells: tuple[State, ...]
    t: int


class Recurrent(nn.Module):
    """A recurrent network of one kind of cell and one normalization.

    Args:
        cell: tag of the cell: ``rnn``, ``lstm`` or ``gru``.
        bidirectional: whether every layer also reads backwards; the next layer sees both outputs side by side.
        norm: the normalization's options, or a mapping with at least its tag ``method``.
        kernel: ``reference``, or ``auto`` for the best there is; the attribute ``kernel`` says which one runs.
        own: options that not every cell has: ``forget_bias`` of the LSTM, ``identity_gates``.

    Raises:
        ValueError: a tag or an option is unknown, a size or an option is not allowed, or there is no such kernel.
    """

    def __init__(
        self,
        cell: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bidirectional: bool = False,
        norm: Method | Mapping[str, Any] | None = None,
        kernel: str = "reference",
        recurrent_init: RecurrentInit = "orthogonal",
        **own: Any,
    ) -> None:
        super().__init__()
        model = _model(
            cell,
            hidden_size=hidden_size,
            num_layers=num_layers,
            bidirectional=bidirectional,
            recurrent_init=recurrent_init,
            **own,
        )
        if input_size < 1:
            raise ValueError(f"expected input_size of 1 or more, received {input_size}")
        options = _options(norm, cell)
        normalization = norms.build(options)
        if kernel not in ("auto", "reference"):
            raise ValueError(f"expected kernel auto or reference, received '{kernel}'; {cell} has no other kernel")
        self.kernel = "reference"
        self.cell = cell
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.directions = 2 if bidirectional else 1
        self.initial_state_noise = normalization.initial_state_noise
        self.whole_sequences = options.whole_sequences
        self.counts_padding = options.needs_batch
        self.cells = nn.ModuleList()
        for layer in range(num_layers):
            size = hidden_size * self.directions if layer else input_size
            for _ in range(self.directions):
                built: Any = cells.build(model, size, normalization)
                self.cells.append(built)

    def forward(
        self, x: Tensor, lengths: Tensor | None = None, state: RecurrentState | None = None
    ) -> tuple[Tensor, RecurrentState]:
        """Run over a sequence, from its start or from where ``state`` left off.

        Args:
            x: (T, B, F).
            lengths: (B,) how many of the T steps each example has; the rest is padding, over which its state is
                copied, and from whose end the backward direction does not read. None if all have T. What x holds in
                the padding does not matter, but for methods whose statistics count it (``counts_padding``); steps
                that are padding in all examples are not computed at all.
            state: what an earlier call returned; None begins with the trained initial state, plus the
                normalization's noise on h, drawn anew from torch's global generator at every call.

        Returns:
            y (T, B, D H), the last layer's h at every step, and the state after the last step (for the backward
            direction: after having read down to the first).

        Raises:
            ValueError: shapes do not fit, or ``state`` is given to a bidirectional network, or to one whose statistics
                are taken over whole sequences, not the population's.
        """
        self._check(x, lengths, state)
        if lengths is None:
            y, ends = self._run(x, None, state)
        else:
            mask = _mask(int(lengths.max()), lengths.to(x.device))
            y, ends = self._run(x[: len(mask)], mask, state)
            last = torch.cat([end.h for end in ends[-self.directions :]], -1)
            y = torch.cat([y, last.expand(len(x) - len(y), -1, -1)])
        return y, RecurrentState(ends, (state.t if state else 0) + len(x))

    def _run(self, x: Tensor, mask: Tensor | None, state: RecurrentState | None) -> tuple[Tensor, tuple[State, ...]]:
        """The outputs (T, B, D H) of the steps x (T, B, F), and the states that all layers and directions end with."""
        if mask is not None and not self.counts_padding:
            x = x.masked_fill(~mask.unsqueeze(2), 0)
        ends: list[State] = []
        for layer in range(0, len(self.cells), self.directions):
            outputs = []
            for direction in range(self.directions):
                cell: Any = self.cells[layer + direction]
                start = state.cells[layer] if state else self._initial_state(cell, x.shape[1])
                read = _reversed(x, mask) if direction else x
                y, end = _unroll(cell, read, start, state.t if state else 0, mask)
                outputs.append(_reversed(y, mask) if direction else y)
                ends.append(end)
            x = outputs[0] if self.directions == 1 else torch.cat(outputs, -1)
        return x, tuple(ends)

    def load_torch_state_dict(self, state_dict: Mapping[str, Tensor]) -> None:
        """Take over the weights of a ``torch.nn`` network of the same cell and sizes, whose two biases become one.

        What torch does not have, as the trained initial state, stays as it is.

        Raises:
            ValueError: a parameter is missing, left over or of another shape, or it is a GRU whose second bias of the
                candidate is not zero, for which there is no place here.
        """
        given = dict(state_dict)
        if self.cell == "gru":
            _check_candidate_bias(given, self.hidden_size)
        taken: list[tuple[nn.Module, str, Tensor]] = []
        for cell, name, name_in_torch in self._named_as_in_torch():
            loaded, ours = _from_torch(given, name_in_torch), getattr(cell, name)
            if loaded.shape != ours.shape:
                raise ValueError(
                    f"expected {name_in_torch} of shape {tuple(ours.shape)}, received {tuple(loaded.shape)}"
                )
            taken.append((cell, name, loaded.to(ours)))
        if given:
            raise ValueError(f"expected a network of these layers and directions, received {', '.join(given)} besides")
        for cell, name, loaded in taken:
            _set(cell, name, loaded)

    def _named_as_in_torch(self) -> Iterator[tuple[nn.Module, str, str]]:
        for k, cell in enumerate(self.cells):
            layer, backwards = divmod(k, self.directions)
            suffix = f"_l{layer}" + ("_reverse" if backwards else "")
            for name in ("weight_ih", "weight_hh", "bias"):
                yield cell, name, name + suffix

    def _initial_state(self, cell: Any, batch_size: int) -> State:
        state: State = cell.initial_state(batch_size)
        if self.initial_state_noise:
            state = state._replace(h=state.h + self.initial_state_noise * torch.randn_like(state.h))
        return state

    def _check(self, x: Tensor, lengths: Tensor | None, state: RecurrentState | None) -> None:
        if x.dim() != 3 or 0 in x.shape or x.shape[2] != self.input_size:
            raise ValueError(
                f"expected x of shape (T, B, {self.input_size}) with T and B at least 1, received {tuple(x.shape)};"
                " time comes first"
            )
        if lengths is not None:
            _check_lengths(lengths, len(x), x.shape[1])
        if state is None:
            return
        if self.directions == 2:
            raise ValueError("expected no state for a bidirectional network, received one; pass the whole sequence")
        if self.whole_sequences and state.t and any(norm.takes_batch for norm in batch_norms(self)):
            raise ValueError(
                "expected whole sequences, over which this method takes its statistics, received a state to go on from;"
                " pass them from the start, or use evaluation mode"
            )
        expected = [_layout(cell.initial_state(x.shape[1])) for cell in cast(Iterable[Any], self.cells)]
        received = [_layout(cell) for cell in state.cells]
        if received != expected:
            raise ValueError(
                f"expected a state of {', '.join(expected)}, received {', '.join(received) or 'none'};"
                " use the state of the same network and batch"
            )


def _model(cell: str, **options: Any) -> RecurrentModel:
    if cell not in CELLS:
        raise ValueError(f"expected a cell out of {', '.join(CELLS)}, received '{cell}'")
    return CELLS[cell].model_validate(options)


def _layout(state: State) -> str:
    """What a state of one layer is made of, to be compared and to be read."""
    return f"{type(state).__name__} {tuple(tuple(part.shape) for part in state)}"


def _check_lengths(lengths: Tensor, steps: int, batch_size: int) -> None:
    if not isinstance(lengths, Tensor):
        raise ValueError(f"expected lengths as a tensor, received {type(lengths).__name__}; use torch.tensor(lengths)")
    if lengths.shape != (batch_size,) or lengths.is_floating_point():
        raise ValueError(
            f"expected lengths of shape ({batch_size},), whole numbers, received {tuple(lengths.shape)} of"
            f" {lengths.dtype}; give one for each example"
        )
    if lengths.min() < 0 or lengths.max() > steps:
        raise ValueError(
            f"expected lengths from 0 to {steps}, received {lengths.min()} to {lengths.max()}; pad x to the longest"
        )


def _options(norm: Method | Mapping[str, Any] | None, cell: str) -> Method:
    if norm is None:
        options: Method = NoNorm()
    elif isinstance(norm, Method):
        options = norm
    else:
        options = _read_options(norm, cell)
    misfit = options.misfit(cell)
    if misfit is not None:
        raise ValueError(f"norm.{misfit[0]}: {misfit[1]}")
    return options


def _read_options(norm: Mapping[str, Any], cell: str) -> Method:
    if not isinstance(norm, Mapping):
        raise ValueError(f"expected norm as a mapping with its tag method, received {norm!r}")
    method = norm.get("method")
    if method not in METHODS:
        raise ValueError(f"expected norm.method out of {', '.join(METHODS)}, received '{method}'")
    return METHODS[method].model_validate({**METHODS[method].defaults(cell), **norm})


def _check_candidate_bias(given: Mapping[str, Tensor], hidden_size: int) -> None:
    for name, value in given.items():
        if name.startswith("bias_hh") and value[2 * hidden_size :].any():
            raise ValueError(
                f"expected {name}[{2 * hidden_size}:] to be zero, received other values; our candidate has one bias,"
                " outside the reset gate"
            )


def _from_torch(given: dict[str, Tensor], name: str) -> Tensor:
    """Take a parameter out of what was given; ``bias_l0`` is the sum of torch's two."""
    names = [name.replace("bias", bias) for bias in ("bias_ih", "bias_hh")] if name.startswith("bias") else [name]
    missing = [part for part in names if part not in given]
    if missing:
        raise ValueError(f"expected {missing[0]}, which is not there; use the state_dict of the same network")
    return torch.stack([given.pop(part) for part in names]).sum(0)


@torch.no_grad()
def _set(cell: nn.Module, name: str, value: Tensor) -> None:
    """Give a parameter a value, through its parametrization if it has one."""
    if parametrize.is_parametrized(cell, name):
        setattr(cell, name, value)
    else:
        getattr(cell, name).copy_(value)


def _unroll(cell: Any, x: Tensor, state: State, t: int, mask: Tensor | None) -> tuple[Tensor, State]:
    """Step ``cell`` over x (T, B, F), the first step being number t; where the mask is false, the state stays."""
    y: list[Tensor] = []
    if len(x) == 0:
        return state.h.expand(0, -1, -1), state
    with parametrize.cached():
        for step, term in enumerate(cell.input_term(x, t, mask).unbind(0)):
            new = cell.step(term, state, t + step)
            state = new if mask is None else _where(mask[step].unsqueeze(1), new, state)
            y.append(state.h)
    return torch.stack(y), state


def _where(mask: Tensor, new: State, old: State) -> State:
    kept: State = type(new)(*(torch.where(mask, n, o) for n, o in zip(new, old, strict=True)))
    return kept


def _mask(steps: int, lengths: Tensor) -> Tensor:
    """(T, B): whether an example has this step."""
    return torch.arange(steps, device=lengths.device).unsqueeze(1) < lengths


def _reversed(x: Tensor, mask: Tensor | None) -> Tensor:
    """x (T, B, F) backwards in time; padding stays at its place."""
    if mask is None:
        return x.flip(0)
    steps = torch.arange(len(x), device=x.device).unsqueeze(1)
    source = torch.where(mask, mask.sum(0) - 1 - steps, steps)  # (T, B)
    return x.gather(0, source.unsqueeze(2).expand_as(x))
