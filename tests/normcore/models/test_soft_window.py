"""The soft window is that of Graves 2013, Eq. 46-51."""

import math

import pytest
import torch

from normcore.models.soft_window import Window


def test_window_is_the_equation_of_the_paper() -> None:
    """The expected values are written out for two Gaussians over three characters of four kinds."""
    characters = torch.eye(4, dtype=torch.float64)[torch.tensor([[2, 0, 3]])]
    numbers = torch.tensor([[0.3, -0.2, 0.5, -1.0, 0.1, 0.4]], dtype=torch.float64)
    alpha, beta, advance = ([math.exp(v) for v in part] for part in ((0.3, -0.2), (0.5, -1.0), (0.1, 0.4)))
    window = Window.before(characters, 2)
    position = [0.0, 0.0]
    for _ in range(2):
        window = window.move_window(numbers, characters, torch.tensor([3]))
        position = [kappa + by for kappa, by in zip(position, advance, strict=True)]
        phi = [
            sum(a * math.exp(-b * (kappa - u) ** 2) for a, b, kappa in zip(alpha, beta, position, strict=True))
            for u in (1, 2, 3, 4)
        ]
        assert window.position[0].tolist() == pytest.approx(position)
        assert window.weights[0].tolist() == pytest.approx(phi[:3])
        assert window.beyond.item() == pytest.approx(phi[3])
        assert window.value[0].tolist() == pytest.approx([phi[1], 0, phi[0], phi[2]])


def test_padding_of_a_text_does_not_change_its_window() -> None:
    short = torch.eye(2)[torch.tensor([[1, 0]])]
    padded = torch.cat([short, torch.zeros(1, 3, 2)], 1)
    numbers = torch.randn(1, 9, generator=torch.Generator().manual_seed(0))
    seen = [Window.before(text, 3).move_window(numbers, text, torch.tensor([2])) for text in (short, padded)]
    assert torch.equal(seen[0].value, seen[1].value)
    assert torch.equal(seen[0].beyond, seen[1].beyond)


@pytest.mark.parametrize("large", [[5.0, 20.0, 10.0], [100.0, 0.0, 0.0], [0.0, 100.0, 0.0], [0.0, 0.0, 100.0]])
def test_large_numbers_give_no_nan(large: list[float]) -> None:
    text = torch.eye(2)[torch.tensor([[1, 0]])]
    numbers = torch.tensor([large], requires_grad=True)
    window = Window.before(text, 1).move_window(numbers, text, torch.tensor([2]))
    window.value.sum().backward()  # type: ignore[no-untyped-call]
    assert window.value.isfinite().all()
    assert numbers.grad is not None
    assert numbers.grad.isfinite().all()
