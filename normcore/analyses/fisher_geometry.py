"""Analysis: geometry of parameter space under normalization. It measures each statement of Ba, Kiros, Hinton 2016,
arXiv:1607.06450v1, section 5.2 and the appendix on gains.
"""

from collections.abc import Iterator
from itertools import product
from math import log

import torch
from torch import Tensor

from normcore.analyses.fisher_matrices import (
    Draw,
    Family,
    Method,
    curvature,
    deviation,
    diagonal_blocks,
    divergence_excess,
    double_rows,
    draw_model,
    factor,
    fisher_matrix,
    gain_block,
    gain_metric,
    kronecker_fisher,
    layer_norm_weight_fisher,
    misprinted_fisher,
    normalized_fisher,
    output_covariance,
    outputs,
    printed_batch_norm_gain_metric,
    projected_gain_metric,
    row_factor,
    standard_model,
    weight_blocks,
)
from normcore.analyses.report import Report, Resources, Work
from normcore.events import Finding
from normcore.spec import AnalysisSpec
from normcore.spec.analyses.fisher_geometry import EXAMPLES, INPUTS, OUTPUTS

FAMILIES: tuple[Family, ...] = ("bernoulli", "gaussian", "categorical")
METHODS: tuple[Method, ...] = ("weight_norm", "batch_norm", "layer_norm")
Fishers = dict[tuple[Method, Family], Tensor]

SAME = 1e-10  # relative deviation, in the Frobenius norm, up to which two matrices count as equal
NULL = 1e-12  # curvature, relative to the mean over the weights, up to which a direction counts as null

STEPS = (1e-1, 1e-2, 1e-3)  # lengths of a change of the parameters
DIRECTIONS = 8  # random directions of a change of the parameters
GROWTH = (1, 4, 16)  # factors of H, to see which deviations vanish as 1 / H
WIDE_ROWS = 3  # rows of W that are doubled in the widest layer


def prepare(spec: AnalysisSpec, seed: int, resources: Resources) -> Work:
    """Prepare the analysis: all statements are measured on one random draw of a model."""
    return Work([lambda: Report(fisher_geometry(seed))])


def fisher_geometry(
    seed: int, hidden_size: int = OUTPUTS, input_size: int = INPUTS, examples: int = EXAMPLES
) -> tuple[Finding, ...]:
    """Measure every statement of section 5.2 on one random draw.

    All 2^H outcomes of H (``hidden_size``) binary outputs are enumerated. With fewer than three units, inputs or
    examples the normalized outputs could not vary freely.
    """
    generator = torch.Generator().manual_seed(seed)
    draw = draw_model(hidden_size, input_size, examples, generator)
    fishers = {(m, f): fisher_matrix(*draw, m, f) for m, f in product(METHODS, FAMILIES)}
    return (
        *_divergence_findings(draw, generator),
        *_kronecker_findings(draw),
        *_block_findings(draw, fishers),
        *_width_findings(draw, generator),
        *_null_findings(draw, fishers, generator),
        *_rate_findings(draw, fishers, generator),
        *_gain_findings(draw, fishers),
    )


def _divergence_findings(draw: Draw, generator: torch.Generator) -> Iterator[Finding]:
    theta, x = draw.theta[:, :-1], draw.x
    fisher = fisher_matrix(theta, x, None, "bernoulli")
    directions = torch.randn(DIRECTIONS, *theta.shape, generator=generator, dtype=torch.float64)
    excess = [max(divergence_excess(theta, x, fisher, step * d / d.norm()) for d in directions) for step in STEPS]
    yield divergence_finding(excess[-1])
    yield linear_order(
        "divergence.order",
        "LN Eq. 8",
        log(excess[0] / excess[-1]) / log(STEPS[0] / STEPS[-1]),
        0.2,
        "corrected: d' F d / 2 is off by O(|d|), relatively",
        f"power of |d| with which that vanishes, from {STEPS[0]:g} to {STEPS[-1]:g}",
    )


def divergence_finding(excess: float) -> Finding:
    """Finding: the divergence differs from its quadratic form, relatively, by no more than the order of the change."""
    return _finding(
        "divergence.bernoulli",
        "LN Eq. 8",
        excess,
        "ds^2 is d' F d / 2 for a small change d",
        excess < 10 * STEPS[-1],
        f"largest |ds^2 / (d' F d / 2) - 1| of {DIRECTIONS} changes with |d| = {STEPS[-1]:g}",
    )


def _kronecker_findings(draw: Draw) -> Iterator[Finding]:
    theta, x = draw.theta[:, :-1], draw.x
    for family in FAMILIES:
        printed = kronecker_fisher(x, output_covariance(family, outputs(theta, x, None)))
        off = deviation(printed, fisher_matrix(theta, x, None, family))
        claimed = "F is E[Cov[y|x] (x) [x; 1] [x; 1]']"
        yield equality(f"kronecker.{family}", "LN Eq. 12", off, claimed, "relative deviation; exact")


def _block_findings(draw: Draw, fishers: Fishers) -> Iterator[Finding]:
    remarks = {
        "weight_norm": "exact",
        "batch_norm": "exact, with the misprint corrected",
        "layer_norm": "w_i changes every output through mean and sigma, which the blocks leave out",
    }
    for method in METHODS:
        off = max(deviation(normalized_fisher(*draw, method, c), f) for c, f in _pairs(draw, method, fishers))
        yield equality(
            f"blocks.{method}",
            "LN Eq. 13-14",
            off,
            "F_ij is E[Cov[y_i, y_j|x] u_i u_j'] with u_i = [g_i chi_i / sigma_i; 1; (a_i - mean_i) / sigma_i]",
            f"relative deviation, worst family; {remarks[method]}",
        )
    covariance = output_covariance("categorical", outputs(*draw, "batch_norm"))
    off = deviation(misprinted_fisher(*draw, "batch_norm", covariance), fishers["batch_norm", "categorical"])
    yield equality(
        "blocks.batch_norm.misprint",
        "LN Eq. 13",
        off,
        "g_j enters F_ij by (a_j - mean_i) / sigma_j",
        "relative deviation, categorical; a misprint of mean_j, seen where outputs are correlated and means differ",
    )
    off = max(
        deviation(layer_norm_weight_fisher(*draw, c), weight_blocks(f)) for c, f in _pairs(draw, "layer_norm", fishers)
    )
    yield equality(
        "blocks.layer_norm.corrected",
        "LN Eq. 13",
        off,
        "corrected: a weight block sums over all pairs of outputs",
        "relative deviation, worst family; exact",
    )
    weights = weight_blocks(fishers["layer_norm", "bernoulli"])
    diagonal = diagonal_blocks(weights).norm()
    across = float((weights.square().sum() - diagonal.square()).clamp(min=0).sqrt() / diagonal)
    yield equality(
        "blocks.layer_norm.across",
        "LN Eq. 13",
        across,
        "F_ij is 0 for i != j where outputs are independent",
        "norm of the weight blocks i != j over that of the blocks i = j, Bernoulli; mean and sigma tie the rows",
    )


def _pairs(draw: Draw, method: Method, fishers: Fishers) -> list[tuple[Tensor, Tensor]]:
    """Output covariance and Fisher matrix of every family, for a method."""
    z = outputs(*draw, method)
    return [(output_covariance(family, z), fishers[method, family]) for family in FAMILIES]


def _width_findings(draw: Draw, generator: torch.Generator) -> Iterator[Finding]:
    examples, input_size = draw.x.shape
    sizes = [growth * len(draw.theta) for growth in GROWTH]
    off = [_width_deviation(draw_model(size, input_size, examples, generator)) for size in sizes]
    for size, value in zip(sizes, off, strict=True):
        yield equality(
            f"width.h{size}",
            "LN Eq. 13-14",
            value,
            "the weight block F_ii is E[Var[y_i|x] (g_i / sigma)^2 chi_i chi_i']",
            f"relative deviation from the corrected blocks, Bernoulli, LN, H = {size}",
        )
    yield linear_order(
        "width.order",
        "LN Eq. 13-14",
        log(off[0] / off[-1]) / log(sizes[-1] / sizes[0]),
        0.3,
        "corrected: under LN it is off by O(1 / H)",
        f"power of 1 / H with which that vanishes, from H = {sizes[0]} to {sizes[-1]}",
    )


def _width_deviation(draw: Draw) -> float:
    covariance = output_covariance("bernoulli", outputs(*draw, "layer_norm"))
    printed = weight_blocks(normalized_fisher(*draw, "layer_norm", covariance))
    return deviation(diagonal_blocks(printed), diagonal_blocks(layer_norm_weight_fisher(*draw, covariance)))


def _null_findings(draw: Draw, fishers: Fishers, generator: torch.Generator) -> Iterator[Finding]:
    weight = draw.theta[:, :-2]
    rows = list(torch.eye(len(weight)).to(weight)[..., None] * weight)
    shift = torch.randn(weight.shape[1], generator=generator, dtype=torch.float64).expand_as(weight)
    for method in METHODS:
        fisher = weight_blocks(fishers[method, "bernoulli"])
        layer = method == "layer_norm"
        along = {
            "row": [abs(curvature(fisher, row)) for row in rows],
            "matrix": [abs(curvature(fisher, weight))],
            "shift": [abs(curvature(fisher, shift))],
        }
        yield null_finding(f"{method}.row", along["row"], "weight vector re-scaling", not layer)
        yield null_finding(f"{method}.matrix", along["matrix"], "weight matrix re-scaling", True)
        yield null_finding(f"{method}.shift", along["shift"], "weight matrix re-centering", layer)


def null_finding(name: str, curvatures: list[float], change: str, invariant: bool) -> Finding:
    """Finding: the curvature along a change is 0 if ``invariant`` (the outputs do not change), else it is not 0."""
    value = max(curvatures) if invariant else min(curvatures)
    return _finding(
        f"null.{name}",
        "LN Table 1",
        value,
        f"{'invariant' if invariant else 'not invariant'} under {change}",
        (value < NULL) == invariant,
        f"{'largest' if invariant else 'smallest'} curvature along it, relative to the weights' mean, Bernoulli",
    )


def _rate_findings(draw: Draw, fishers: Fishers, generator: torch.Generator) -> Iterator[Finding]:
    theta, x = draw
    remarks = {
        "weight_norm": "1/4 exactly: sigma_i enters twice; along w_i itself the curvature is 0",
        "batch_norm": "1/4 exactly: sigma_i enters twice; along w_i itself the curvature is 0",
        "layer_norm": "no fixed factor: sigma is the layer's, and the outputs change",
    }
    for method in METHODS:

        def weight_fisher(theta: Tensor, method: Method = method) -> Tensor:
            return weight_blocks(fisher_matrix(theta, x, method, "bernoulli"))

        value = row_factor(theta, weight_fisher, len(theta))
        yield rate_finding(f"{method}.row", value, f"factor of F_ii of the weights, Bernoulli; {remarks[method]}")
    for method in ("weight_norm", "batch_norm"):
        grown = fisher_matrix(double_rows(theta, slice(1)), x, method, "categorical")
        value = factor(weight_blocks(grown)[0, :, 1:], weight_blocks(fishers[method, "categorical"])[0, :, 1:])
        yield rate_finding(f"{method}.across", value, "factor of F_ij of the weights, i != j, categorical; exact")
    grown = fisher_matrix(double_rows(theta, slice(None)), x, "layer_norm", "bernoulli")
    value = factor(weight_blocks(grown), weight_blocks(fishers["layer_norm", "bernoulli"]))
    yield rate_finding("layer_norm.matrix", value, "factor of F of the weights as W doubles, Bernoulli; 1/4 exactly")
    wide = draw_model(GROWTH[-1] * len(theta), x.shape[1], len(x), generator)
    yield wide_rate_finding(len(wide.theta), _wide_row_factor(wide))


def _wide_row_factor(draw: Draw) -> float:
    theta, x = draw

    def weight_fisher(theta: Tensor) -> Tensor:
        return layer_norm_weight_fisher(theta, x, output_covariance("gaussian", outputs(theta, x, "layer_norm")))

    return row_factor(theta, weight_fisher, WIDE_ROWS)


def wide_rate_finding(hidden_size: int, value: float) -> Finding:
    """Finding: in a wide layer, doubling w_i changes the curvature by a factor that is closer to 1 than to 1/2."""
    return _finding(
        f"rate.layer_norm.row.h{hidden_size}",
        "LN section 5.2.2",
        value,
        "corrected: in a wide layer the curvature stays, as one w_i hardly changes sigma",
        abs(value - 1) < abs(value - 1 / 2),
        f"factor of F_ii of the weights, Gaussian, H = {hidden_size}; 1 as H grows, given outputs of constant variance",
    )


def rate_finding(name: str, value: float, remark: str) -> Finding:
    """Finding: the curvature halves when w_i doubles."""
    claimed = "curvature changes by a factor of 1/2 when w_i doubles"
    return _finding(f"rate.{name}", "LN section 5.2.2", value, claimed, abs(value - 1 / 2) < SAME, remark)


def _gain_findings(draw: Draw, fishers: Fishers) -> Iterator[Finding]:
    for family in FAMILIES:
        printed = printed_batch_norm_gain_metric(output_covariance(family, outputs(*draw, "batch_norm")))
        off = deviation(printed, gain_block(fishers["batch_norm", family]))
        yield equality(
            f"gain.batch_norm.{family}",
            "LN Eq. 32",
            off,
            "the metric of the gains is E[Cov[y|x]]",
            "relative deviation; exact for independent outputs of constant variance, else a^_i a^_j may not be dropped",
        )
    yield _gain_finding(draw, fishers, "batch_norm", "gain.batch_norm.corrected", "LN Eq. 32", "corrected: ")
    yield _gain_finding(draw, fishers, "layer_norm", "gain.layer_norm", "LN Eq. 33", "")
    yield _gain_finding(draw, fishers, "weight_norm", "gain.weight_norm", "LN Eq. 34", "")
    theta, x = standard_model(draw.theta), draw.x
    metrics = {f: projected_gain_metric(theta[:, :-1], fisher_matrix(theta, x, None, f)) for f in FAMILIES}
    off = max(deviation(metrics[f], gain_block(fishers["weight_norm", f])) for f in FAMILIES)
    yield equality(
        "gain.standard",
        "LN Eq. 34-35",
        off,
        "changing |w_i| in the standard GLM has the metric of changing g_i under WN",
        "relative deviation, worst family; exact at equal outputs",
    )
    metric = metrics["categorical"]
    i, j = torch.triu_indices(len(metric), len(metric), offset=1)
    off = deviation(metric[i, j], metric[i, i] + 2 * metric[i, j] + metric[j, j])
    yield equality(
        "gain.standard.printed",
        "LN Eq. 35",
        off,
        "ds^2 of changing |w_i| and |w_j| is d_i d_j E[Cov[y_i, y_j|x] a_i a_j] / (2 |w_i| |w_j|)",
        "relative deviation over all pairs with d_i = d_j, categorical; of four terms one is printed",
    )


def _gain_finding(draw: Draw, fishers: Fishers, method: Method, name: str, equation: str, corrected: str) -> Finding:
    weight = draw.theta[:, :-2]
    off = max(
        deviation(gain_metric(weight, draw.x, method, c), gain_block(f)) for c, f in _pairs(draw, method, fishers)
    )
    claimed = f"{corrected}the metric of the gains is E[Cov[y_i, y_j|x] a^_i a^_j], a^ = (a - mean) / sigma"
    return equality(name, equation, off, claimed, "relative deviation, worst family; exact")


def equality(name: str, equation: str, off: float, claim: str, meaning: str) -> Finding:
    """Finding: the two sides of an equation agree up to rounding."""
    return _finding(name, equation, off, claim, off < SAME, meaning)


def linear_order(name: str, equation: str, order: float, tolerance: float, claim: str, meaning: str) -> Finding:
    """Finding: a quantity vanishes with the first power of the variable that goes to 0."""
    return _finding(name, equation, order, claim, abs(order - 1) < tolerance, meaning)


def _finding(name: str, equation: str, value: float, claim: str, holds: bool, meaning: str) -> Finding:
    return Finding(name, value, meaning, claim=claim, holds=holds, source=equation)
