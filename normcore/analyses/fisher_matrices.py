"""Fisher matrices under normalization: Ba, Kiros, Hinton 2016, arXiv:1607.06450v1, section 5.2 and appendix on gains.

Models are generalized linear models (GLM) y | x with natural parameters z; the dispersion phi is always 1. Fisher
matrices are computed from their definition in float64, with scores by autograd. They are compared with the paper's
expressions.

Shapes: N examples, F inputs, H outputs, Y values of y, and P parameters per output: F + 1 for the standard GLM, F + 2
with a gain. The parameters theta (H, P) have rows [w_i, b_i, g_i], which makes theta.flatten() the paper's
vec([W, b, g]'). A Fisher matrix is (H, P, H, P): its block F_ij is ``fisher[i, :, j, :]``.
"""

from collections.abc import Callable
from itertools import product
from statistics import fmean
from typing import Literal, NamedTuple, cast

import torch
from torch import Tensor
from torch.func import jacrev
from torch.nn import functional

Family = Literal["bernoulli", "gaussian", "categorical"]
Method = Literal["weight_norm", "batch_norm", "layer_norm"]


class Draw(NamedTuple):
    """Random draw of a model: parameters with gains, theta (H, F + 2), and inputs x (N, F)."""

    theta: Tensor
    x: Tensor


def draw_model(hidden_size: int, input_size: int, examples: int, generator: torch.Generator) -> Draw:
    """Draw random weights, biases, gains between 0.5 and 1.5, and inputs with a mean that is not 0."""
    weight = torch.randn(hidden_size, input_size, generator=generator, dtype=torch.float64) / input_size**0.5
    bias = 0.5 * torch.randn(hidden_size, 1, generator=generator, dtype=torch.float64)
    gain = 0.5 + torch.rand(hidden_size, 1, generator=generator, dtype=torch.float64)
    x_mean = 0.5 * torch.randn(input_size, generator=generator, dtype=torch.float64)
    x = x_mean + torch.randn(examples, input_size, generator=generator, dtype=torch.float64)
    return Draw(torch.cat([weight, bias, gain], 1), x)


def outputs(theta: Tensor, x: Tensor, method: Method | None) -> Tensor:
    """Natural parameters z = g (a - mean) / sigma + b, LN Eq. 5: (H, P), (N, F) -> (N, H).

    Without a method, z = a + b.
    """
    size = x.shape[1]
    weight, bias = theta[:, :size], theta[:, size]
    if method is None:
        return x @ weight.T + bias
    a_hat, _ = normalize_sums(weight, x, method)
    return theta[:, size + 1] * a_hat + bias


def normalize_sums(weight: Tensor, x: Tensor, method: Method) -> tuple[Tensor, Tensor]:
    """Normalize the summed inputs a = W x of LN Eq. 1, without eps: returns (a - mean) / sigma (N, H), and sigma."""
    a = x @ weight.T  # (N, H)
    mean, sigma = moments(a, weight, method)
    return (a - mean) / sigma, sigma


def moments(a: Tensor, weight: Tensor, method: Method) -> tuple[Tensor, Tensor]:
    """Mean and sigma of a. BN: over the examples (1, H); LN: over the outputs (N, 1); WN: 0 and |w_i| (1, H)."""
    if method == "weight_norm":
        sigma = weight.square().sum(1).sqrt()[None]
        return torch.zeros_like(sigma), sigma
    over = 0 if method == "batch_norm" else 1
    mean = a.mean(over, keepdim=True)
    return mean, (a - mean).square().mean(over, keepdim=True).sqrt()


def log_partition(family: Family, z: Tensor) -> Tensor:
    """Log-partition function eta in log P(y | z) = z y - eta(z) + c(y), LN Eq. 10, for all outputs: (N, H) -> (N,)."""
    if family == "bernoulli":
        return functional.softplus(z).sum(-1)
    if family == "gaussian":
        return z.square().sum(-1) / 2
    return z.logsumexp(-1)


def output_covariance(family: Family, z: Tensor) -> Tensor:
    """Covariance Cov[y | x]; its diagonal is f'(z), f(z) being the mean of y, LN Eq. 11: (N, H) -> (N, H, H)."""
    if family == "bernoulli":
        mean = z.sigmoid()
        return (mean * (1 - mean)).diag_embed()
    if family == "gaussian":
        return torch.ones_like(z).diag_embed()
    mean = z.softmax(-1)
    return mean.diag_embed() - mean[:, :, None] * mean[:, None, :]


def outcomes(family: Family, z: Tensor) -> tuple[Tensor, Tensor]:
    """Values of y and their probabilities: (N, H) -> (Y, N, H), (Y, N).

    For the Gaussian these are 2 H points with the mean and covariance of y. Expectations of quadratic functions of y
    are then exact.
    """
    examples, size = z.shape
    if family == "gaussian":
        points = size**0.5 * torch.cat([torch.eye(size), -torch.eye(size)]).to(z)
        return z + points[:, None], torch.full((2 * size, examples), 1 / (2 * size), dtype=z.dtype)
    values = torch.eye(size) if family == "categorical" else torch.tensor(list(product((0.0, 1.0), repeat=size)))
    y = values.to(z)[:, None].expand(-1, examples, -1)
    return y, (torch.einsum("ynh,nh->yn", y, z) - log_partition(family, z)).exp()


def fisher_matrix(theta: Tensor, x: Tensor, method: Method | None, family: Family) -> Tensor:
    """Fisher matrix E[score score'] over the inputs x and every y, LN Eq. 9: (H, P), (N, F) -> (H, P, H, P).

    The score is (dz / dtheta)' (y - d eta / dz). Only the second factor depends on y; it is averaged first.
    """
    z = outputs(theta, x, method)
    y, probability = outcomes(family, z)
    score = y - cast(Tensor, jacrev(lambda z: log_partition(family, z).sum())(z))  # (Y, N, H), by z
    by_z = torch.einsum("yn,yni,ynj->nij", probability, score, score)
    slope = cast(Tensor, jacrev(outputs)(theta, x, method))  # (N, H, H, P)
    return torch.einsum("nkl,nkip,nljq->ipjq", by_z, slope, slope) / len(x)


def kronecker_fisher(x: Tensor, covariance: Tensor) -> Tensor:
    """Fisher matrix by LN Eq. 12, E[Cov[y|x] (x) [x; 1] [x; 1]']: (N, F), (N, H, H) -> (H, F + 1, H, F + 1)."""
    x_one = functional.pad(x, (0, 1), value=1.0)  # (N, F + 1)
    return torch.einsum("nij,np,nq->ipjq", covariance, x_one, x_one) / len(x)


def normalized_fisher(theta: Tensor, x: Tensor, method: Method, covariance: Tensor) -> Tensor:
    """Fisher matrix by LN Eq. 13: F_ij = E[Cov[y_i, y_j | x] u_i u_j'].

    Here u_i = [g_i chi_i / sigma_i; 1; (a_i - mean_i) / sigma_i]. The expression is exact for WN and BN. For LN it
    ignores the effect of w_i on the outputs k != i, see ``layer_norm_weight_fisher``. Shapes are (H, F + 2), (N, F),
    (N, H, H) -> (H, F + 2, H, F + 2).
    """
    u = _output_gradient(theta, x, method)
    return torch.einsum("nij,nip,njq->ipjq", covariance, u, u) / len(x)


def misprinted_fisher(theta: Tensor, x: Tensor, method: Method, covariance: Tensor) -> Tensor:
    """Fisher matrix as ``normalized_fisher``, but with the paper's misprint.

    The misprint is in the derivative by g_j: (a_j - mean_i) / sigma_j.
    """
    weight = theta[:, : x.shape[1]]
    a = x @ weight.T
    mean, sigma = (s.expand_as(a) for s in moments(a, weight, method))
    u = _output_gradient(theta, x, method)
    misprinted = (a[:, None, :] - mean[:, :, None]) / sigma[:, None, :]  # (N, H, H)
    fisher = normalized_fisher(theta, x, method, covariance)
    fisher[..., -1] = torch.einsum("nij,nip,nij->ipj", covariance, u, misprinted) / len(x)
    return fisher


def _output_gradient(theta: Tensor, x: Tensor, method: Method) -> Tensor:
    """Derivatives of z_i by [w_i, b_i, g_i]: (N, H, F + 2)."""
    size = x.shape[1]
    a_hat, sigma = normalize_sums(theta[:, :size], x, method)
    by_weight = (theta[:, size + 1] / sigma)[..., None] * chi(theta[:, :size], x, method)
    return torch.cat([by_weight, torch.ones_like(a_hat)[..., None], a_hat[..., None]], -1)


def chi(weight: Tensor, x: Tensor, method: Method) -> Tensor:
    """Vectors chi_i of LN Eq. 14: (H, F), (N, F) -> (N, H, F).

    chi_i = x - d mean_i / d w_i - (a_i - mean_i) / sigma_i d sigma_i / d w_i
    """
    a_hat, sigma = normalize_sums(weight, x, method)
    if method == "weight_norm":
        mean_slope = torch.zeros_like(x)[:, None]
        sigma_slope = weight / sigma.T  # (H, F)
    elif method == "batch_norm":
        mean_slope = x.mean(0)  # (F)
        sigma_slope = a_hat.T @ x / len(x)  # (H, F)
    else:
        mean_slope = x[:, None] / len(weight)
        sigma_slope = a_hat[..., None] * x[:, None] / len(weight)  # (N, H, F)
    return x[:, None] - mean_slope - a_hat[..., None] * sigma_slope


def layer_norm_weight_fisher(theta: Tensor, x: Tensor, covariance: Tensor) -> Tensor:
    """Weight part of the Fisher matrix under LN, where every output depends on every row of W.

        F_ij = E[sum_kl Cov[y_k, y_l | x] d_ki d_lj x x'] with d_ki = g_k (1[k = i] - 1/H - a^_k a^_i / H) / sigma

    a^ is the normalized a. Shapes are (H, F + 2), (N, F), (N, H, H) -> (H, F, H, F).
    """
    size = x.shape[1]
    a_hat, sigma = normalize_sums(theta[:, :size], x, "layer_norm")
    shared = (1 + a_hat[:, :, None] * a_hat[:, None, :]) / len(theta)
    slope = theta[:, size + 1, None] * (torch.eye(len(theta)).to(x) - shared) / sigma[..., None]  # (N, H, H)
    return torch.einsum("nij,nf,ng->ifjg", slope.mT @ covariance @ slope, x, x) / len(x)


def gain_metric(weight: Tensor, x: Tensor, method: Method, covariance: Tensor) -> Tensor:
    """Metric of the gains, E[Cov[y_i, y_j | x] a^_i a^_j] with a^ = (a - mean) / sigma: LN Eq. 33 and 34.

    Shapes are (H, F), (N, F), (N, H, H) -> (H, H).
    """
    a_hat, _ = normalize_sums(weight, x, method)
    return torch.einsum("nij,ni,nj->ij", covariance, a_hat, a_hat) / len(x)


def printed_batch_norm_gain_metric(covariance: Tensor) -> Tensor:
    """Metric of BN's gains as the paper prints it: E[Cov[y|x]], LN Eq. 32: (N, H, H) -> (H, H).

    The paper replaces the product a^_i a^_j of the normalized a by its mean over x.
    """
    return covariance.mean(0)


def projected_gain_metric(weight: Tensor, fisher: Tensor) -> Tensor:
    """Metric m of the row lengths |w_i| in the standard GLM, LN Eq. 35: (H, F), (H, F + 1, H, F + 1) -> (H, H).

    m is the Fisher matrix along w_i / |w_i|. Lengthening rows i and j by d_i and d_j has
    ds^2 = (d_i^2 m_ii + 2 d_i d_j m_ij + d_j^2 m_jj) / 2. The paper prints only the term d_i d_j m_ij / 2.
    """
    unit = functional.normalize(weight, dim=1)
    size = weight.shape[1]
    return torch.einsum("if,ifjg,jg->ij", unit, fisher[:, :size, :, :size], unit)


def standard_model(theta: Tensor) -> Tensor:
    """Parameters of the standard GLM with the outputs of theta under WN: (H, F + 2) -> (H, F + 1).

    The rows of W are g_i w_i / |w_i|.
    """
    weight, bias, gain = theta[:, :-2], theta[:, -2:-1], theta[:, -1:]
    return torch.cat([gain * functional.normalize(weight, dim=1), bias], 1)


def deviation(measured: Tensor, exact: Tensor) -> float:
    """Relative deviation: Frobenius norm of ``measured - exact``, divided by the Frobenius norm of ``exact``."""
    return float((measured - exact).norm() / exact.norm())


def weight_blocks(fisher: Tensor) -> Tensor:
    """Part of a Fisher matrix for the weights, without biases and gains: (H, F + 2, H, F + 2) -> (H, F, H, F)."""
    return fisher[:, :-2, :, :-2]


def gain_block(fisher: Tensor) -> Tensor:
    """Part of a Fisher matrix for the gains: (H, F + 2, H, F + 2) -> (H, H)."""
    return fisher[:, -1, :, -1]


def diagonal_blocks(fisher: Tensor) -> Tensor:
    """Diagonal blocks F_ii of a Fisher matrix: (H, P, H, P) -> (H, P, P)."""
    return torch.einsum("ipiq->ipq", fisher)


def curvature(fisher: Tensor, direction: Tensor) -> float:
    """Curvature along a direction, relative to the mean over all directions: (H, F, H, F), (H, F) -> number.

    It is the Rayleigh quotient of the direction, divided by the trace over H F.
    """
    quotient = torch.einsum("if,ifjg,jg->", direction, fisher, direction) / direction.square().sum()
    return float(quotient * direction.numel() / torch.einsum("ifif->", fisher))


def factor(after: Tensor, before: Tensor) -> float:
    """Factor c for which c * ``before`` is nearest to ``after``, by least squares."""
    return float((after * before).sum() / before.square().sum())


def bernoulli_divergence(z: Tensor, changed: Tensor) -> Tensor:
    """Mean of KL[P(y | z) || P(y | changed)] over the examples, ds^2 of LN Eq. 8: (N, H), (N, H) -> ()."""
    grown = log_partition("bernoulli", changed) - log_partition("bernoulli", z)  # (N)
    return (grown - (z.sigmoid() * (changed - z)).sum(-1)).mean()


def double_rows(theta: Tensor, rows: slice) -> Tensor:
    """Copy of theta in which ``rows`` of W are doubled: (H, F + 2) -> (H, F + 2)."""
    theta = theta.clone()
    theta[rows, :-2] *= 2
    return theta


def divergence_excess(theta: Tensor, x: Tensor, fisher: Tensor, change: Tensor) -> float:
    """Relative deviation of the divergence from d' F d / 2, for a change d (H, F + 1) of the standard Bernoulli GLM."""
    divergence = bernoulli_divergence(outputs(theta, x, None), outputs(theta + change, x, None))
    quadratic = torch.einsum("ip,ipjq,jq->", change, fisher, change) / 2
    return float((divergence / quadratic - 1).abs())


def row_factor(theta: Tensor, weight_fisher: Callable[[Tensor], Tensor], rows: int) -> float:
    """Factor by which the block F_ii changes when w_i doubles, mean over the first ``rows`` rows i.

    ``weight_fisher`` computes the Fisher matrix of the weights from theta: (H, P) -> (H, F, H, F).
    """
    before = diagonal_blocks(weight_fisher(theta))
    after = [diagonal_blocks(weight_fisher(double_rows(theta, slice(i, i + 1))))[i] for i in range(rows)]
    return fmean(factor(grown, block) for grown, block in zip(after, before[:rows], strict=True))
