"""A mixture density over the next move of a pen (Graves 2013, arXiv:1308.0850, section 4.1).

Shapes: any number of axes (...), M components. A point is (dx, dy, end): the offset from the previous point, and
whether a stroke ends with this point.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

LOG_2_PI = math.log(2 * math.pi)
LOG_LARGEST = 40.0  # log of a deviation in standard units: float32 can still add up squares of smaller ones
STEEPEST = 8.0  # |atanh rho|: with smaller ones, float32 still tells rho from 1
EXTREME = 170.0  # bound of -log sigma and |atanh rho| in float64


class PenMixture(NamedTuple):
    """Mixture density that predicts the next point.

    Attributes:
        log_weights: log pi (..., M).
        mean, log_deviation: mu and log sigma (..., M, 2), of dx and dy.
        atanh_correlation: atanh rho (..., M).
        lift: e-hat (...): the pen is lifted after the point with probability 1 / (1 + exp(lift)).
    """

    log_weights: Tensor
    mean: Tensor
    log_deviation: Tensor
    atanh_correlation: Tensor
    lift: Tensor

    @classmethod
    def of(cls, numbers: Tensor, bias: float = 0.0) -> "PenMixture":
        """Make the mixture from the network's numbers (..., 6 M + 1): Eq. 18-22.

        Args:
            bias: larger values make drawn points neater and less varied (Eq. 61, 62); 0 is the model itself.
        """
        components = numbers.shape[-1] // 6
        lift, weights, mean, log_deviation, correlation = torch.split(
            numbers, [1, components, 2 * components, 2 * components, components], -1
        )
        pairs = (*numbers.shape[:-1], components, 2)
        return cls(
            log_weights=((1 + bias) * weights).log_softmax(-1),
            mean=mean.reshape(pairs),
            log_deviation=log_deviation.reshape(pairs) - bias,
            atanh_correlation=correlation,
            lift=lift.squeeze(-1),
        )

    def cost(self, points: Tensor) -> Tensor:
        """Compute -log Pr (...) of points (..., 3), in nats: Eq. 26.

        1 / (1 - rho^2) is cosh^2(atanh rho), and Z / (1 - rho^2) = z_1^2 + (z_2 - rho z_1)^2 / (1 - rho^2). So no
        difference of nearly equal numbers arises if rho is near 1.

        The cost is computed in float64 if float32 could overflow or lose digits. On a GPU it always is, because
        checking would wait for the device. Deviation: in float64, sigma is at least e^-170, and atanh rho is within
        +-170.
        """
        if self.mean.is_cpu and self._is_moderate(points):
            return self._cost(points)
        wide = PenMixture(*(part.double() for part in self))
        wide = wide._replace(
            log_deviation=wide.log_deviation.clamp(min=-EXTREME),
            atanh_correlation=wide.atanh_correlation.clamp(-EXTREME, EXTREME),
        )
        return wide._cost(points.double()).to(points.dtype)

    def _is_moderate(self, points: Tensor) -> bool:
        """Tell if float32 can compute the cost. Its factors must fit, too: at the mean, 0 is multiplied by them."""
        farthest = points.detach()[..., :2].abs().amax() + self.mean.detach().abs().amax()
        correlation = self.atanh_correlation.detach().abs().amax()
        steepest = correlation - self.log_deviation.detach().amin()
        log_largest = (farthest.clamp(min=1).log() + steepest).item() + math.log(2)  # of |z| and of ``across``
        return log_largest < LOG_LARGEST and correlation.item() < STEEPEST

    def _cost(self, points: Tensor) -> Tensor:
        rho = self.atanh_correlation.tanh()
        log_cosh = _log_cosh(self.atanh_correlation)
        z_1, z_2 = ((points[..., None, :2] - self.mean) * (-self.log_deviation).exp()).unbind(-1)  # Eq. 25
        across = (z_2 - rho * z_1) * log_cosh.exp()
        log_normal = (
            -LOG_2_PI - self.log_deviation.sum(-1) + log_cosh - 0.5 * (z_1.square() + across.square())
        )  # Eq. 24
        move = (self.log_weights + log_normal).logsumexp(-1)
        end = points[..., 2]
        lifted = functional.binary_cross_entropy_with_logits(-self.lift, end, reduction="none")
        return lifted - move  # Eq. 23, 26

    def draw_points(self, generator: torch.Generator) -> Tensor:
        """Draw points (..., 3) from the mixture."""
        weights = self.log_weights.exp()
        chosen = torch.multinomial(weights.flatten(0, -2), 1, generator=generator).view(*weights.shape[:-1], 1)
        mean, log_deviation = (
            part.gather(-2, chosen.unsqueeze(-1).expand(*chosen.shape, 2)).squeeze(-2)
            for part in (self.mean, self.log_deviation)
        )
        r = self.atanh_correlation.gather(-1, chosen).squeeze(-1)
        n_1, n_2, u = _noise(r, generator)
        rho = r.tanh()
        z = torch.stack([n_1, rho * n_1 + n_2 * (-_log_cosh(r)).exp()], -1)
        end = u < torch.sigmoid(-self.lift)  # Eq. 18
        return torch.cat([mean + log_deviation.exp() * z, end.to(mean).unsqueeze(-1)], -1)


def _noise(like: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    normal = torch.randn(2, *like.shape, generator=generator, device=like.device, dtype=like.dtype)
    uniform = torch.rand(like.shape, generator=generator, device=like.device, dtype=like.dtype)
    return normal[0], normal[1], uniform


def _log_cosh(x: Tensor) -> Tensor:
    return x.abs() + functional.softplus(-2 * x.abs()) - math.log(2)
