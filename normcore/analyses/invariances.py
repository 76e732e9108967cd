"""Analysis: invariances of a normalized layer. Ba, Kiros, Hinton 2016, arXiv:1607.06450v1, section 5.1.

Shapes: N cases, F inputs, H units. Everything is computed in float64.
"""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, cast

import torch
from torch import Tensor, nn

from normcore.analyses.report import Report, Resources, Work
from normcore.events import Finding
from normcore.norms import build
from normcore.spec import AnalysisSpec
from normcore.spec.analyses.invariances import CASES, INPUTS, UNITS
from normcore.spec.methods.layer_norm import LayerNorm
from normcore.spec.methods.method import Method

Change = Literal[
    "weight_matrix_rescaling",
    "weight_matrix_recentering",
    "weight_vector_rescaling",
    "dataset_rescaling",
    "dataset_recentering",
    "single_case_rescaling",
]
SCALE = 3.0
NO_EPS = 1e-300  # so small that it is lost in rounding when it is added to a variance
INVARIANT = 1e-12  # largest relative deviation that rounding explains
WORDS = {True: "invariant", False: "not invariant"}
TABLE_1: Mapping[str, Mapping[Change, bool]] = {
    "batch_norm": {
        "weight_matrix_rescaling": True,
        "weight_matrix_recentering": False,
        "weight_vector_rescaling": True,
        "dataset_rescaling": True,
        "dataset_recentering": True,
        "single_case_rescaling": False,
    },
    "weight_norm": {
        "weight_matrix_rescaling": True,
        "weight_matrix_recentering": False,
        "weight_vector_rescaling": True,
        "dataset_rescaling": False,
        "dataset_recentering": False,
        "single_case_rescaling": False,
    },
    "layer_norm": {
        "weight_matrix_rescaling": True,
        "weight_matrix_recentering": True,
        "weight_vector_rescaling": False,
        "dataset_rescaling": True,
        "dataset_recentering": False,
        "single_case_rescaling": True,
    },
}
"""As printed."""


@dataclass(frozen=True, slots=True)
class Invariance:
    """Invariance of a method to one change: one column of Table 1.

    Attributes:
        change: the change of weights or inputs.
        deviation: largest change of a normalized summed input, relative to the largest normalized summed input.
        invariant: whether the deviation is so small that rounding explains it.
    """

    change: Change
    deviation: float
    invariant: bool


@dataclass(frozen=True, slots=True)
class RescalingWithEps:
    """Effect of rescaling all weights on layer norm's outputs, if eps is added to the variance.

    Attributes:
        eps: number that is added to the variance.
        scale: factor of the weights.
        ratio: output with rescaled weights divided by the original output; median over the cases.
        deviation: largest relative difference of a ratio from sqrt((v + eps) / (v + eps / scale^2)), v being the
            variance of the case's summed inputs.
    """

    eps: float
    scale: float
    ratio: float
    deviation: float


@dataclass(frozen=True, slots=True)
class Layer:
    """Layer: weights (H, F), followed by a normalization.

    Only the weight matrix changes; other parameters and running statistics keep their initial values.
    """

    linear: nn.Linear
    norm: nn.Module

    @property
    def weight(self) -> nn.Parameter:
        """Trained matrix: W, or the matrix from which a parametrization computes W."""
        return next(p for p in self.linear.parameters() if p.shape == (self.linear.out_features, INPUTS))

    def with_weight(self, weight: Tensor, x: Tensor) -> Tensor:
        """Compute the normalized summed inputs (N, H) of x (N, F) with ``weight`` instead of the trained matrix."""
        kept = self.weight.detach().clone()
        with torch.no_grad():
            self.weight.copy_(weight)
            output: Tensor = copy.deepcopy(self.norm)(self.linear(x))
            self.weight.copy_(kept)
        return output


def prepare(spec: AnalysisSpec, seed: int, resources: Resources) -> Work:
    """Prepare the analysis: Table 1's row of the spec's method; for layer norm also the effect of eps on column 1."""
    method = cast(Method, spec.norm)

    def measure() -> Report:
        findings = [finding_of(invariance, method) for invariance in invariances(method, seed)]
        if isinstance(method, LayerNorm) and method.stands_at("layer"):
            findings.append(finding_with_eps(rescaling_with_eps(method, seed)))
        return Report(findings)

    return Work([measure])


def finding_of(invariance: Invariance, method: Method) -> Finding:
    """Finding: a measured invariance, compared with Table 1 if the table has the method in its plain form."""
    plain = not getattr(method, "mean_only_batch_norm", False) and method.stands_at("layer")
    printed = TABLE_1.get(method.method, {}).get(invariance.change) if plain else None
    finding = Finding(
        invariance.change,
        invariance.deviation,
        "largest change of a normalized summed input, relative to the largest of them",
        verdict=WORDS[invariance.invariant],
    )
    if printed is None:
        return finding
    return finding.against(WORDS[printed], invariance.invariant == printed, "LN Table 1")


def finding_with_eps(rescaling: RescalingWithEps) -> Finding:
    """Finding: rescaling with eps, compared with our own claim, as the paper has no eps (LN Table 1, first column)."""
    return Finding(
        "weight_matrix_rescaling.eps",
        rescaling.deviation,
        f"largest relative difference from the claim, of rescaled over original outputs (median {rescaling.ratio:.9g})"
        f" with eps {rescaling.eps:g} and scale {rescaling.scale:g}",
        claim="sqrt((v + eps) / (v + eps / scale^2)), v being the variance of the summed inputs",
        holds=rescaling.deviation <= INVARIANT,
        source="normbench: LN Table 1 with eps added to the variance",
    )


def invariances(method: Method, seed: int = 0) -> list[Invariance]:
    """Measure Table 1's row of a method, on a random layer of units and a random set of cases.

    Layer norm's first two columns are LN Eq. 6, its last column is LN Eq. 7. The method's eps is left out, and its gain
    is 1. Batch statistics are computed from the cases; running averages that training uses, from the unchanged cases. A
    method that is not used at layers leaves the layer as it is.

    Raises:
        ValueError: the method is not for layers of units.
    """
    generator = torch.Generator().manual_seed(seed)
    layer = _layer(_as_in_the_table(method), generator)
    x = torch.randn(CASES, INPUTS, generator=generator, dtype=torch.float64)
    weight = layer.weight.detach().clone()
    layer.norm(layer.linear(x))
    original = layer.with_weight(weight, x)
    return [
        _compare_outputs(change, changed(layer, weight, x, generator), original) for change, changed in CHANGES.items()
    ]


def rescaling_with_eps(method: LayerNorm, seed: int = 0) -> RescalingWithEps:
    """Measure how far eps breaks layer norm's invariance when all weights are rescaled."""
    generator = torch.Generator().manual_seed(seed)
    layer = _layer(method.model_copy(update={"affine": False}), generator)
    x = torch.randn(CASES, INPUTS, generator=generator, dtype=torch.float64)
    weight = layer.weight.detach().clone()
    ratio = layer.with_weight(SCALE * weight, x) / layer.with_weight(weight, x)
    var = (x @ weight.T).var(1, correction=0, keepdim=True)
    exact = ((var + method.eps) / (var + method.eps / SCALE**2)).sqrt()
    return RescalingWithEps(method.eps, SCALE, ratio.median().item(), (ratio / exact - 1).abs().max().item())


def _layer(method: Method, generator: torch.Generator) -> Layer:
    size = UNITS * getattr(method, "groups", 1)
    linear = nn.Linear(INPUTS, size, bias=False, dtype=torch.float64)
    with torch.no_grad():
        linear.weight.normal_(generator=generator)
    if not method.stands_at("layer"):
        return Layer(linear, nn.Identity())
    normalization = build(method)
    normalization.parametrize(linear, "weight")
    return Layer(linear, normalization.layer((size,)).double())


def _as_in_the_table(method: Method) -> Method:
    """Copy of a method as Table 1 has it: without eps, and with gain 1."""
    wanted = {"eps": NO_EPS, "gain_init": 1.0}
    return method.model_copy(update={name: wanted[name] for name in wanted.keys() & type(method).model_fields.keys()})


def _compare_outputs(change: Change, changed: Tensor, original: Tensor) -> Invariance:
    deviation = ((changed - original).abs().max() / original.abs().max()).item()
    return Invariance(change, deviation, deviation <= INVARIANT)


def _one_row(weight: Tensor) -> Tensor:
    rescaled = weight.clone()
    rescaled[0] *= SCALE
    return rescaled


def _shift(generator: torch.Generator) -> Tensor:
    """Draw a random shift (F,) to be added to all rows of W, or to all cases."""
    return torch.randn(INPUTS, generator=generator, dtype=torch.float64)


def _one_case(layer: Layer, weight: Tensor, x: Tensor, generator: torch.Generator) -> Tensor:
    rescaled = x.clone()
    rescaled[0] *= SCALE
    return layer.with_weight(weight, rescaled)


CHANGES: dict[Change, Callable[[Layer, Tensor, Tensor, torch.Generator], Tensor]] = {
    "weight_matrix_rescaling": lambda layer, weight, x, _: layer.with_weight(SCALE * weight, x),
    "weight_matrix_recentering": lambda layer, weight, x, g: layer.with_weight(weight + _shift(g), x),
    "weight_vector_rescaling": lambda layer, weight, x, _: layer.with_weight(_one_row(weight), x),
    "dataset_rescaling": lambda layer, weight, x, _: layer.with_weight(weight, SCALE * x),
    "dataset_recentering": lambda layer, weight, x, g: layer.with_weight(weight, x + _shift(g)),
    "single_case_rescaling": _one_case,
}
"""Table 1's columns: the normalized summed inputs (N, H) after each change."""
