"""Build the normalized parts of a model: recurrent networks, cells, norms and weights."""

from dataclasses import dataclass

import torch
from torch import nn

from normcore import cells, kernels, norms
from normcore.cells import Cell, State
from normcore.recurrent import Recurrent
from normcore.spec.methods.method import Method
from normcore.spec.methods.none import NoNorm
from normcore.spec.models.model import Model, Place
from normcore.spec.models.recurrent import RecurrentModel


@dataclass(frozen=True, slots=True)
class Build:
    """Builder of the parts of a model. It knows the normalization, and where the model will run.

    Attributes:
        options: the options of the spec's model, of the family that the task takes.
        norm: the normalization's options.
        kernel: the requested kernel: the implementation of the loop over time.
        device, dtype: the device and the precision in which the model will run.
    """

    options: Model
    norm: Method
    kernel: str
    device: torch.device
    dtype: torch.dtype

    def recurrent(self, options: RecurrentModel, input_size: int) -> Recurrent:
        """Build a recurrent network, normalized inside its cells if the method has a place there.

        Raises:
            KernelUnavailable: the requested kernel does not exist for this network.
        """
        has_a_place = not options.places.isdisjoint(self.norm.takes)
        norm = self.norm.within(options.places) if has_a_place else NoNorm()
        kernel, unroll = kernels.choose(self.kernel, options, norm, self.device, self.dtype)
        return Recurrent(options, input_size, norm, kernel, unroll)

    def cell(self, options: RecurrentModel, input_size: int) -> Cell[State]:
        """Build one normalized cell, for a network that goes step by step: see ``normcore.recurrent.step_by_step``."""
        return cells.build(options, input_size, norms.build(self.norm))

    def norm_at(self, place: Place, shape: tuple[int, ...]) -> nn.Module:
        """Build the norm of the summed inputs of a layer of ``shape``, (F) or (C, H, W); the identity if the method
        has no norm at this place. The norm is called with (B, *shape).
        """
        return norms.build(self.norm).layer(shape) if self.norm.stands_at(place) else nn.Identity()

    def parametrize(self, place: Place, module: nn.Module, *matrices: str) -> None:
        """Give the named matrices of a layer the method's parametrization, if the method has one at this place."""
        if self.norm.stands_at(place):
            norms.build(self.norm).parametrize(module, *matrices)
