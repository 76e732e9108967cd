"""Fisher matrices equal references in numpy: derivatives by complex step, and sums over every value of y."""

from collections.abc import Iterator
from itertools import combinations, product

import numpy as np
import pytest
import torch
from torch import Tensor

from normcore.analyses import fisher_geometry as geometry
from normcore.analyses import fisher_matrices as matrices
from normcore.analyses.fisher_matrices import Draw, Family, Method
from normcore.events import Finding

STEP = 1e-30


@pytest.fixture(scope="module")
def measured() -> tuple[Finding, ...]:
    return geometry.fisher_geometry(0)


@pytest.fixture
def draw() -> Draw:
    return matrices.draw_model(5, 3, 7, torch.Generator().manual_seed(3))


def value_of(measured: tuple[Finding, ...], name: str) -> float:
    (value,) = [finding.value for finding in measured if finding.name == name]
    assert value is not None
    return value


def plain_outputs(theta: np.ndarray, x: np.ndarray, method: Method | None) -> np.ndarray:
    """Compute z (N, H), one number at a time; theta may be complex."""
    size = x.shape[1]
    a = np.array(
        [[sum(w * value for w, value in zip(row[:size], example, strict=True)) for row in theta] for example in x]
    )
    z = np.empty_like(a)
    for (n, i), summed in np.ndenumerate(a):
        if method is None:
            z[n, i] = summed + theta[i, size]
            continue
        if method == "weight_norm":
            mean, sigma = 0, sum(theta[i, :size] ** 2) ** 0.5
        else:
            over = a[:, i] if method == "batch_norm" else a[n]
            mean = sum(over) / len(over)
            sigma = (sum((over - mean) ** 2) / len(over)) ** 0.5
        z[n, i] = theta[i, size + 1] * (summed - mean) / sigma + theta[i, size]
    return z


def slopes(draw: Draw, method: Method | None) -> np.ndarray:
    """Compute dz / dtheta (N, H, H, P) by complex steps."""
    theta, x = (tensor.numpy() for tensor in draw)
    result = np.empty((len(x), len(theta), *theta.shape))
    for place in np.ndindex(*theta.shape):
        moved = theta.astype(complex)
        moved[place] += 1j * STEP
        result[:, :, *place] = plain_outputs(moved, x, method).imag / STEP
    return result


def values(family: Family, z: np.ndarray) -> Iterator[tuple[np.ndarray, float, np.ndarray]]:
    """Every y for the z (H) of one example, with its probability and d log P / dz; a Gaussian y by quadrature."""
    if family == "categorical":
        probability = np.exp(z) / np.exp(z).sum()
        for y, p in zip(np.eye(len(z)), probability, strict=True):
            yield y, p, y - probability
    elif family == "bernoulli":
        on = 1 / (1 + np.exp(-z))
        for bits in product((0.0, 1.0), repeat=len(z)):
            y = np.array(bits)
            yield y, float(np.prod(np.where(y == 1, on, 1 - on))), np.where(y == 1, 1 - on, -on)
    else:
        nodes, weights = np.polynomial.hermite_e.hermegauss(3)
        for chosen in product(range(3), repeat=len(z)):
            noise = nodes[list(chosen)]
            yield z + noise, float(np.prod(weights[list(chosen)] / weights.sum())), noise


def plain_covariance(family: Family, z: np.ndarray) -> np.ndarray:
    """Compute Cov[y|x] (N, H, H)."""
    result = []
    for row in z:
        y, p, _ = (np.array(column) for column in zip(*values(family, row), strict=True))
        mean = p @ y
        result.append(sum(weight * np.outer(value - mean, value - mean) for weight, value in zip(p, y, strict=True)))
    return np.array(result)


def plain_fisher(draw: Draw, method: Method | None, family: Family) -> Tensor:
    """Compute the Fisher matrix (H, P, H, P) by its definition."""
    theta, x = (tensor.numpy() for tensor in draw)
    fisher = np.zeros((theta.size, theta.size))
    for row, slope in zip(plain_outputs(theta, x, method), slopes(draw, method), strict=True):
        for _, probability, by_z in values(family, row):
            score = by_z @ slope.reshape(len(theta), -1)
            fisher += probability * np.outer(score, score) / len(x)
    return torch.tensor(fisher.reshape(*theta.shape, *theta.shape))


def covariance_of(draw: Draw, method: Method | None, family: Family) -> Tensor:
    return torch.tensor(plain_covariance(family, plain_outputs(draw.theta.numpy(), draw.x.numpy(), method)))


def standard(draw: Draw) -> Draw:
    """Remove the gains from the parameters, which gives the standard model."""
    return Draw(draw.theta[:, :-1], draw.x)


@pytest.mark.parametrize("family", geometry.FAMILIES)
@pytest.mark.parametrize("method", [None, *geometry.METHODS])
def test_the_fisher_matrix_is_the_sum_over_every_y(draw: Draw, method: Method | None, family: Family) -> None:
    draw = draw if method else standard(draw)
    expected = plain_fisher(draw, method, family)
    torch.testing.assert_close(matrices.fisher_matrix(*draw, method, family), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("family", geometry.FAMILIES)
def test_the_output_covariance_is_the_sum_over_every_y(draw: Draw, family: Family) -> None:
    expected = covariance_of(draw, "layer_norm", family)
    covariance = matrices.output_covariance(family, matrices.outputs(*draw, "layer_norm"))
    torch.testing.assert_close(covariance, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("family", geometry.FAMILIES)
def test_the_standard_models_fisher_matrix_is_a_kronecker_product(draw: Draw, family: Family) -> None:
    """Eq. 12, with the Kronecker product of numpy."""
    theta, x = standard(draw)
    covariance = covariance_of(standard(draw), None, family)
    terms = [np.kron(c, np.outer([*row, 1], [*row, 1])) for c, row in zip(covariance.numpy(), x.numpy(), strict=True)]
    kronecker = torch.tensor(np.mean(terms, 0)).view(*theta.shape, *theta.shape)
    torch.testing.assert_close(kronecker, matrices.kronecker_fisher(x, covariance), rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(kronecker, matrices.fisher_matrix(theta, x, None, family), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("method", geometry.METHODS)
def test_chi_is_the_slope_of_a_unit_by_its_own_weights(draw: Draw, method: Method) -> None:
    """Eq. 14: dz_i / dw_i = g_i / sigma_i chi_i. For a unit and its own weights, this holds for LN, too."""
    theta, x = draw
    _, sigma = matrices.normalize_sums(theta[:, :-2], x, method)
    own = torch.einsum("niip->nip", torch.tensor(slopes(draw, method)))[..., :-2]
    chi = own * (sigma / theta[:, -1])[..., None]
    torch.testing.assert_close(matrices.chi(theta[:, :-2], x, method), chi, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("family", geometry.FAMILIES)
@pytest.mark.parametrize("method", ["weight_norm", "batch_norm"])
def test_the_printed_blocks_are_exact_for_weight_norm_and_batch_norm(
    draw: Draw, method: Method, family: Family
) -> None:
    printed = matrices.normalized_fisher(*draw, method, covariance_of(draw, method, family))
    torch.testing.assert_close(printed, plain_fisher(draw, method, family), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("family", geometry.FAMILIES)
def test_blocks_of_the_weights_under_layer_norm_sum_over_pairs_of_outputs(draw: Draw, family: Family) -> None:
    exact = plain_fisher(draw, "layer_norm", family)[:, :-2, :, :-2]
    covariance = covariance_of(draw, "layer_norm", family)
    corrected = matrices.layer_norm_weight_fisher(*draw, covariance)
    torch.testing.assert_close(corrected, exact, rtol=1e-9, atol=1e-11)
    printed = matrices.normalized_fisher(*draw, "layer_norm", covariance)[:, :-2, :, :-2]
    assert matrices.deviation(printed, exact) > 0.05


@pytest.mark.parametrize("method", geometry.METHODS)
@pytest.mark.parametrize("family", geometry.FAMILIES)
def test_misprint_shows_only_for_batch_norm_with_categorical_outputs(
    draw: Draw, method: Method, family: Family
) -> None:
    covariance = covariance_of(draw, method, family)
    corrected = matrices.normalized_fisher(*draw, method, covariance)
    off = matrices.deviation(matrices.misprinted_fisher(*draw, method, covariance), corrected)
    assert (off > 1e-3) is (method == "batch_norm" and family == "categorical")


def test_the_printed_diagonal_is_off_by_one_over_the_width(measured: tuple[Finding, ...]) -> None:
    """The error is about 20% at H = 8, 5% at 32 and 1% at 128."""
    for size, about in ((8, 0.2), (32, 0.05), (128, 0.0125)):
        assert value_of(measured, f"width.h{size}") == pytest.approx(about, rel=0.3)
    assert value_of(measured, "width.order") == pytest.approx(1, abs=0.2)


@pytest.mark.parametrize(("method", "directions"), [("weight_norm", 8), ("batch_norm", 8), ("layer_norm", 1 + 5)])
def test_number_of_null_directions_is_as_expected(method: Method, directions: int) -> None:
    """The null directions are the H rows of W under WN and BN, and vec(W) and the F directions 1 v' under LN."""
    draw = matrices.draw_model(8, 5, 64, torch.Generator().manual_seed(0))
    fisher = matrices.fisher_matrix(*draw, method, "bernoulli")[:, :-2, :, :-2].reshape(40, 40)
    eigenvalues = torch.linalg.eigvalsh(fisher)
    assert (eigenvalues.abs() < 1e-12 * eigenvalues[-1]).sum() == directions


@pytest.mark.parametrize("method", geometry.METHODS)
@pytest.mark.parametrize(
    ("change", "methods"),
    [("row", {"weight_norm", "batch_norm"}), ("matrix", set(geometry.METHODS)), ("shift", {"layer_norm"})],
)
def test_curvature_vanishes_only_along_invariances(
    measured: tuple[Finding, ...], method: Method, change: str, methods: set[Method]
) -> None:
    curvature = value_of(measured, f"null.{method}.{change}")
    assert curvature < 1e-12 if method in methods else curvature > 0.01


@pytest.mark.parametrize("method", ["weight_norm", "batch_norm"])
def test_doubling_a_row_divides_its_block_by_four_and_its_others_by_two(draw: Draw, method: Method) -> None:
    before = plain_fisher(draw, method, "categorical")[:, :-2, :, :-2]
    after = plain_fisher(Draw(matrices.double_rows(draw.theta, slice(1, 2)), draw.x), method, "categorical")[
        :, :-2, :, :-2
    ]
    scale = torch.ones(5, 5, dtype=torch.float64)
    scale[1] /= 2
    scale[:, 1] /= 2
    torch.testing.assert_close(after, before * scale[:, None, :, None], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "factor"),
    [
        ("weight_norm.row", 1 / 4),
        ("batch_norm.row", 1 / 4),
        ("layer_norm.matrix", 1 / 4),
        ("weight_norm.across", 1 / 2),
        ("batch_norm.across", 1 / 2),
    ],
)
def test_growing_weights_slow_learning_by_the_expected_factors(
    measured: tuple[Finding, ...], name: str, factor: float
) -> None:
    assert value_of(measured, f"rate.{name}") == pytest.approx(factor, rel=1e-10)


def test_a_growing_row_does_not_slow_a_wide_layer_norm_down(measured: tuple[Finding, ...]) -> None:
    assert value_of(measured, "rate.layer_norm.row.h128") == pytest.approx(1, abs=0.1)
    assert value_of(measured, "rate.layer_norm.row") > 0.5


@pytest.mark.parametrize("family", geometry.FAMILIES)
@pytest.mark.parametrize("method", geometry.METHODS)
def test_the_gains_metric_weighs_the_normalized_summed_inputs(draw: Draw, method: Method, family: Family) -> None:
    """Eq. 33 and 34, and Eq. 32 with the terms that it leaves out."""
    metric = matrices.gain_metric(draw.theta[:, :-2], draw.x, method, covariance_of(draw, method, family))
    torch.testing.assert_close(metric, plain_fisher(draw, method, family)[:, -1, :, -1], rtol=1e-10, atol=1e-12)


def test_the_printed_metric_of_batch_norms_gains_needs_a_constant_variance(draw: Draw) -> None:
    """Eq. 32."""
    bounds: dict[Family, tuple[float, float]] = {
        "gaussian": (0.0, 1e-10),
        "bernoulli": (0.05, 1.0),
        "categorical": (0.05, 1.0),
    }
    for family, (least, most) in bounds.items():
        printed = matrices.printed_batch_norm_gain_metric(covariance_of(draw, "batch_norm", family))
        exact = plain_fisher(draw, "batch_norm", family)[:, -1, :, -1]
        assert least <= matrices.deviation(printed, exact) <= most


@pytest.mark.parametrize("family", geometry.FAMILIES)
def test_weight_norms_gains_have_the_metric_of_the_standard_models_lengths(draw: Draw, family: Family) -> None:
    """Eq. 34, and Eq. 35 with all four terms, for rows 0 and 2."""
    plain = Draw(matrices.standard_model(draw.theta), draw.x)
    torch.testing.assert_close(
        matrices.outputs(*plain, None), matrices.outputs(*draw, "weight_norm"), rtol=1e-12, atol=1e-14
    )
    fisher = plain_fisher(plain, None, family)
    metric = matrices.projected_gain_metric(plain.theta[:, :-1], fisher)
    gains = plain_fisher(draw, "weight_norm", family)[:, -1, :, -1]
    torch.testing.assert_close(metric, gains, rtol=1e-10, atol=1e-12)
    change = torch.zeros_like(plain.theta)
    for row, by in ((0, 0.7), (2, -0.4)):
        change[row, :-1] = by * plain.theta[row, :-1] / plain.theta[row, :-1].norm()
    expected = 0.49 * metric[0, 0] - 0.56 * metric[0, 2] + 0.16 * metric[2, 2]
    torch.testing.assert_close(change.flatten() @ fisher.view(20, 20) @ change.flatten(), expected, rtol=1e-10, atol=0)


def test_printed_equation_has_only_one_of_four_terms_of_the_standard_model(measured: tuple[Finding, ...]) -> None:
    """Eq. 35, for every pair of rows that grow by the same length."""
    draw = matrices.draw_model(8, 5, 64, torch.Generator().manual_seed(0))
    theta = matrices.standard_model(draw.theta)
    fisher = matrices.fisher_matrix(theta, draw.x, None, "categorical")
    lengths = torch.eye(8).double()[..., None] * torch.cat([theta[:, :-1], torch.zeros(8, 1)], 1)
    lengths /= lengths.norm(dim=(1, 2), keepdim=True)  # (H, H, P), one row of W in each
    full, printed = [], []
    for one, other in combinations(lengths, 2):
        full.append(torch.einsum("ip,ipjq,jq->", one + other, fisher, one + other) / 2)
        printed.append(torch.einsum("ip,ipjq,jq->", one, fisher, other) / 2)
    off = matrices.deviation(torch.stack(printed), torch.stack(full))
    assert value_of(measured, "gain.standard.printed") == pytest.approx(off, rel=1e-10)
    assert off > 0.5


def test_the_divergence_is_the_sum_over_every_y(draw: Draw) -> None:
    z = matrices.outputs(*draw, "layer_norm")
    changed = z + 0.3
    expected = 0.0
    for row, other in zip(z.numpy(), changed.numpy(), strict=True):
        for (_, p, _), (_, q, _) in zip(values("bernoulli", row), values("bernoulli", other), strict=True):
            expected += p * np.log(p / q) / len(z)
    assert float(matrices.bernoulli_divergence(z, changed)) == pytest.approx(expected, rel=1e-12)


def test_the_divergence_is_the_quadratic_form_up_to_the_third_order(draw: Draw) -> None:
    """Eq. 8: for a change ten times as large, the relative excess is ten times as large."""
    theta, x = standard(draw)
    direction = torch.randn(theta.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    fisher = plain_fisher(standard(draw), None, "bernoulli")
    large, middle, small = (matrices.divergence_excess(theta, x, fisher, e * direction) for e in (1e-1, 1e-2, 1e-3))
    assert 0.2 > large > middle > small > 0
    assert large / middle == pytest.approx(10, rel=0.3)
    assert middle / small == pytest.approx(10, rel=0.05)


def test_findings_agree_with_the_paper_except_at_misprints(measured: tuple[Finding, ...]) -> None:
    assert {finding.name for finding in measured if not finding.holds} == {
        "blocks.batch_norm.misprint",
        "blocks.layer_norm",
        "blocks.layer_norm.across",
        "width.h8",
        "width.h32",
        "width.h128",
        "rate.weight_norm.row",
        "rate.batch_norm.row",
        "rate.layer_norm.row",
        "rate.layer_norm.matrix",
        "gain.batch_norm.bernoulli",
        "gain.batch_norm.categorical",
        "gain.standard.printed",
    }


def test_every_finding_has_a_unique_name(measured: tuple[Finding, ...]) -> None:
    names = [finding.name for finding in measured]
    assert len(set(names)) == len(names)


def test_a_seed_gives_the_same_findings_again() -> None:
    first, again, other = (geometry.fisher_geometry(seed, 3, 3, 8) for seed in (5, 5, 6))
    assert first == again
    assert first != other


def test_a_wrong_chi_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrices, "chi", lambda weight, x, method: x[:, None].expand(-1, len(weight), -1))
    found = {finding.name: finding.holds for finding in geometry.fisher_geometry(0, 3, 3, 8)}
    assert not found["blocks.weight_norm"]
    assert not found["blocks.batch_norm"]


@pytest.mark.parametrize(
    ("expression", "findings"),
    [
        ("kronecker_fisher", {f"kronecker.{family}" for family in geometry.FAMILIES}),
        ("normalized_fisher", {"blocks.weight_norm", "blocks.batch_norm"}),
        ("layer_norm_weight_fisher", {"blocks.layer_norm.corrected"}),
        ("gain_metric", {"gain.batch_norm.corrected", "gain.layer_norm", "gain.weight_norm"}),
        ("printed_batch_norm_gain_metric", {"gain.batch_norm.gaussian"}),
        ("projected_gain_metric", {"gain.standard"}),
    ],
)
def test_equation_with_an_error_of_a_millionth_does_not_hold(
    monkeypatch: pytest.MonkeyPatch, expression: str, findings: set[str]
) -> None:
    right = getattr(geometry, expression)
    assert all(finding.holds for finding in geometry.fisher_geometry(0, 3, 3, 8) if finding.name in findings)
    monkeypatch.setattr(geometry, expression, lambda *arguments: (1 + 1e-6) * right(*arguments))
    held = {finding.name: finding.holds for finding in geometry.fisher_geometry(0, 3, 3, 8)}
    assert {name: held[name] for name in findings} == dict.fromkeys(findings, False)


def test_findings_compare_the_fisher_matrix_with_the_equations(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slightly wrong Fisher matrix satisfies no equation."""
    right = matrices.fisher_matrix
    monkeypatch.setattr(geometry, "fisher_matrix", lambda *arguments: (1 + 1e-6) * right(*arguments))
    held = {finding.name: finding.holds for finding in geometry.fisher_geometry(0, 3, 3, 8)}
    for name in ("kronecker.bernoulli", "blocks.batch_norm", "blocks.layer_norm.corrected", "gain.weight_norm"):
        assert not held[name], name


@pytest.mark.parametrize(
    ("finding", "holds"),
    [
        (geometry.equality("", "", geometry.SAME / 2, "", ""), True),
        (geometry.equality("", "", geometry.SAME * 2, "", ""), False),
        (geometry.linear_order("", "", 1.1, 0.2, "", ""), True),
        (geometry.linear_order("", "", 0.9, 0.2, "", ""), True),
        (geometry.linear_order("", "", 0.7, 0.2, "", ""), False),
        (geometry.linear_order("", "", 2.0, 0.2, "", ""), False),
        (geometry.divergence_finding(geometry.STEPS[-1]), True),
        (geometry.divergence_finding(100 * geometry.STEPS[-1]), False),
        (geometry.null_finding("", [0.0, geometry.NULL / 2], "", True), True),
        (geometry.null_finding("", [0.0, geometry.NULL * 2], "", True), False),
        (geometry.null_finding("", [0.5, geometry.NULL * 2], "", False), True),
        (geometry.null_finding("", [0.5, geometry.NULL / 2], "", False), False),
        (geometry.rate_finding("", 0.5, ""), True),
        (geometry.rate_finding("", 0.5 + 1e-6, ""), False),
        (geometry.rate_finding("", 0.25, ""), False),
        (geometry.wide_rate_finding(128, 0.8), True),
        (geometry.wide_rate_finding(128, 0.7), False),
    ],
)
def test_each_kind_of_verdict_can_hold_and_fail(finding: Finding, holds: bool) -> None:
    assert finding.holds is holds
