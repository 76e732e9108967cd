"""Recurrent networks: a cell over time (``unroll``), over layers and directions (``Recurrent``)."""

from normcore.recurrent.stack import Recurrent, RecurrentState
from normcore.recurrent.torch_weights import load_torch_state_dict
from normcore.recurrent.unroll import UnrolledCell, states, step_by_step, take_in_moments, unroll

__all__ = [
    "Recurrent",
    "RecurrentState",
    "UnrolledCell",
    "load_torch_state_dict",
    "states",
    "step_by_step",
    "take_in_moments",
    "unroll",
]
