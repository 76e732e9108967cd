"""Load the weights of ``torch.nn``'s recurrent networks."""

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from normcore.recurrent.stack import Recurrent
from normcore.spec.cells.gru import GRU


def load_torch_state_dict(network: Recurrent, state_dict: Mapping[str, Tensor]) -> None:
    """Load the weights of a ``torch.nn`` network of the same cell and sizes. Torch's two biases are added to one.

    Parameters that torch does not have, such as the trained initial state, stay as they are.

    Raises:
        ValueError: a parameter is missing, left over or of another shape; or the network is a GRU whose second bias of
            the candidate is not zero, because our GRU has no such bias.
    """
    given = dict(state_dict)
    if isinstance(network.options, GRU):
        _check_candidate_bias(given, network.hidden_size)
    taken: list[tuple[nn.Module, str, Tensor]] = []
    for cell, name, name_in_torch in _list_torch_names(network):
        loaded, ours = _from_torch(given, name_in_torch), getattr(cell, name)
        if loaded.shape != ours.shape:
            raise ValueError(f"expected {name_in_torch} of shape {tuple(ours.shape)}, received {tuple(loaded.shape)}")
        taken.append((cell, name, loaded.to(ours)))
    if given:
        raise ValueError(
            f"expected only weights of this network's layers and directions, received {', '.join(given)} besides;"
            " use the state_dict of a network with the same layers and directions"
        )
    for cell, name, loaded in taken:
        _set(cell, name, loaded)


def _list_torch_names(network: Recurrent) -> Iterator[tuple[nn.Module, str, str]]:
    for k, cell in enumerate(network.cells):
        layer, backwards = divmod(k, network.directions)
        suffix = f"_l{layer}" + ("_reverse" if backwards else "")
        for name in ("weight_ih", "weight_hh", "bias"):
            yield cell, name, name + suffix


def _check_candidate_bias(given: Mapping[str, Tensor], hidden_size: int) -> None:
    for name, value in given.items():
        if name.startswith("bias_hh") and value[2 * hidden_size :].any():
            raise ValueError(
                f"expected {name}[{2 * hidden_size}:] to be zero, received other values; our candidate has one bias,"
                " outside the reset gate"
            )


def _from_torch(given: dict[str, Tensor], name: str) -> Tensor:
    """Remove a parameter from ``given`` and return it; ``bias_l0`` is the sum of torch's two biases."""
    names = [name.replace("bias", bias) for bias in ("bias_ih", "bias_hh")] if name.startswith("bias") else [name]
    missing = [part for part in names if part not in given]
    if missing:
        raise ValueError(f"expected {missing[0]}, which is not there; use the state_dict of the same network")
    return torch.stack([given.pop(part) for part in names]).sum(0)


@torch.no_grad()
def _set(cell: nn.Module, name: str, value: Tensor) -> None:
    """Set the value of a cell's parameter, through the parametrization if the parameter has one."""
    if parametrize.is_parametrized(cell, name):
        setattr(cell, name, value)
    else:
        getattr(cell, name).copy_(value)
