"""The matrix products of a training step of an LSTM, without the rest of the step."""

import torch

from benchmarks.kernels.contestants import Shape


class Products:
    """Products of a training step by ``torch.mm``. The inputs get no gradient, as in the benchmark.

    Forward: the input term of all steps at once, and the recurrent term step by step. Backward: the gradient of h step
    by step, and those of both weights at once.
    """

    def __init__(self, shape: Shape) -> None:
        rows, gates = shape.steps * shape.batch, 4 * shape.hidden
        self.x, self.h, self.grad = (torch.randn(rows, width) for width in (shape.inputs, shape.hidden, gates))
        self.weight_x, self.weight_h = torch.randn(gates, shape.inputs), torch.randn(gates, shape.hidden)
        self.batch = shape.batch

    @torch.no_grad()
    def compute(self) -> None:
        torch.mm(self.x, self.weight_x.t())
        for h in torch.split(self.h, self.batch):
            torch.mm(h, self.weight_h.t())
        for grad in torch.split(self.grad, self.batch):
            torch.mm(grad, self.weight_h)
        torch.mm(self.grad.t(), self.h)
        torch.mm(self.grad.t(), self.x)
