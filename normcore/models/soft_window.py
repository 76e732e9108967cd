"""A soft window on a sequence of characters (Graves 2013, arXiv:1308.0850, section 5.1).

Shapes: B examples, U characters, V kinds of characters, K Gaussians.
"""

from typing import NamedTuple

import torch
from torch import Tensor

LARGEST = 20.0


class Window(NamedTuple):
    """Window on the characters at a step.

    Attributes:
        value: w (B, V), the weighted sum of the characters.
        position: kappa (B, K), where each Gaussian stands, in characters; it never goes back.
        weights: phi (B, U), the weight of each character; 0 beyond each text.
        beyond: (B), phi at the place after the text's last character. Once the text is written, it is larger than all
            ``weights``.
    """

    value: Tensor
    position: Tensor
    weights: Tensor
    beyond: Tensor

    @classmethod
    def before(cls, characters: Tensor, size: int) -> "Window":
        """Make the window before the first step, for ``characters`` (B, U, V): all weights are 0, and each Gaussian
        stands at 0."""
        batch, _, kinds = characters.shape
        return cls(
            value=characters.new_zeros(batch, kinds),
            position=characters.new_zeros(batch, size),
            weights=characters.new_zeros(characters.shape[:2]),
            beyond=characters.new_zeros(batch),
        )

    def move_window(self, numbers: Tensor, characters: Tensor, lengths: Tensor) -> "Window":
        """Compute the window at the next step.

        Deviation: the logarithms of alpha, of beta and of kappa's advance are at most ``LARGEST``, so that the three
        do not overflow.

        Args:
            numbers: (B, 3 K), output of the network.
            characters: (B, U, V), one-hot; 0 beyond each text.
            lengths: (B), lengths of the texts.
        """
        alpha, beta, advance = numbers.clamp(max=LARGEST).exp().chunk(3, 1)  # Eq. 48-50
        position = self.position + advance  # Eq. 51
        u = torch.arange(1, characters.shape[1] + 1, device=numbers.device, dtype=numbers.dtype)

        def phi(u: Tensor) -> Tensor:
            return (alpha.unsqueeze(2) * (-beta.unsqueeze(2) * (position.unsqueeze(2) - u).square()).exp()).sum(1)

        weights = phi(u.view(1, 1, -1)).masked_fill(u > lengths.unsqueeze(1), 0)  # Eq. 46
        value = torch.einsum("bu,buv->bv", weights, characters)  # Eq. 47
        beyond = phi((lengths + 1).to(numbers.dtype).view(-1, 1, 1)).squeeze(1)
        return Window(value, position, weights, beyond)
