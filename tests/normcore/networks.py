"""Networks for tests."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from normcore.norms.batch_statistics import BatchStatistics
from normcore.recurrent import Recurrent
from normcore.spec.cells import CELLS
from normcore.spec.methods import METHODS
from normcore.spec.methods.method import Method


def recurrent(
    cell: str,
    input_size: int,
    hidden_size: int,
    num_layers: int = 1,
    bidirectional: bool = False,
    norm: Method | Mapping[str, Any] | None = None,
    **own: Any,
) -> Recurrent:
    """Build a network of a cell. Options that ``norm`` omits have the method's defaults for that cell."""
    sizes = {"hidden_size": hidden_size, "num_layers": num_layers, "bidirectional": bidirectional}
    options = CELLS[cell].model_validate({"cell": cell, **sizes, **own})
    if not isinstance(norm, Method):
        written = dict(norm or {"method": "none"})
        method = METHODS[written["method"]]
        norm = method.model_validate({**method.defaults(CELLS[cell]), **written})
    return Recurrent(options, input_size, norm)


def taking_in(norm: nn.Module, a: Tensor, t: int = 0) -> Tensor:
    """Compute the output of a cell's norm for summed inputs; then take in their moments, as a network does."""
    normalized: Tensor = norm(a, t)
    moments = norm.moments() if isinstance(norm, BatchStatistics) else None
    if isinstance(norm, BatchStatistics) and moments is not None:
        norm.take_in(moments, t)
    return normalized
