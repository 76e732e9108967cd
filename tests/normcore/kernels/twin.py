"""Contract of every twin of the reference. The test class of a twin derives from ``Twin``."""

import re
from collections.abc import Callable
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor

from normcore import recurrent
from normcore.norms.population import batch_norms, population_statistics
from normcore.recurrent import Recurrent
from normcore.spec.cells import CELLS
from normcore.spec.methods import METHODS
from tests.normcore.kernels.cell_pass import (
    CASES,
    DEFAULTS,
    EXACT,
    OF_BATCH_NORM,
    OVER_ALL_STEPS,
    SITES,
    TINIEST,
    cell_of,
    differences,
    drawn,
    everything,
    in_float32,
    know_a_population,
    of_both,
    relative,
    some_mask,
)

WITHOUT_A_MASK = [case for case in CASES if case in DEFAULTS or case in OF_BATCH_NORM or case in OVER_ALL_STEPS]
"""Cases that run without a mask, too: a mask changes the statistics of batch norm. To others it is the same."""
case = pytest.mark.parametrize(("cell", "method", "options"), CASES)
IN_NETWORKS = [(cell, method, (k // 3 + k % 3) % 2 == 0) for k, (cell, method, _) in enumerate(DEFAULTS)]
"""Each cell and each method in networks that read forwards, and in networks that read both ways."""
default = pytest.mark.parametrize(("cell", "method"), [case[:2] for case in DEFAULTS])
of_batch_norm = pytest.mark.parametrize(("cell", "method", "options"), OF_BATCH_NORM)


class Twin:
    """Tests of a twin: in float64 it equals the reference, and in float32 it is as accurate as eager torch.

    Attributes:
        hidden: number of units, not a multiple of the length of a vector.
    """

    unroll: ClassVar[Callable[..., recurrent.UnrolledCell]]
    steps: ClassVar[int]
    batch: ClassVar[int]
    hidden: ClassVar[int]

    def drawn(self, cell: str, method: str, options: dict[str, Any] | None = None) -> tuple[Any, Tensor, Any]:
        built = cell_of(cell, method, options or {}, inputs=3, hidden=self.hidden)
        return built, *drawn(built, self.steps, self.batch)

    @pytest.mark.parametrize(("cell", "method", "options"), WITHOUT_A_MASK)
    def test_outputs_gradients_and_moments_equal_the_reference(
        self, cell: str, method: str, options: dict[str, Any]
    ) -> None:
        built, x, start = self.drawn(cell, method, options)
        found = of_both(self.unroll, built, x, start)
        assert max(found.values()) < EXACT, found

    @case
    def test_results_with_a_mask_equal_the_reference_and_are_the_same_without_gradients(
        self, cell: str, method: str, options: dict[str, Any]
    ) -> None:
        built, x, start = self.drawn(cell, method, options)
        mask = some_mask(self.steps, self.batch)
        found, expected = (everything(unroll, built, x, start, mask) for unroll in (self.unroll, recurrent.unroll))
        off = differences(found, expected)
        assert max(off.values()) < EXACT, off
        with torch.no_grad():
            alone: Any = self.unroll(built, x, start, 0, mask)
        assert not alone.y.requires_grad
        assert torch.equal(alone.y, found["y"])
        for name, part in alone.end._asdict().items():
            assert torch.equal(part, found[f"end.{name}"])

    @pytest.mark.parametrize(("cell", "method", "options"), SITES)
    def test_norms_at_any_places_equal_the_reference(self, cell: str, method: str, options: dict[str, Any]) -> None:
        built, x, start = self.drawn(cell, method, options)
        found = of_both(self.unroll, built, x, start)
        assert max(found.values()) < EXACT, found

    @default
    def test_single_example_equals_the_reference_or_is_refused(self, cell: str, method: str) -> None:
        built = cell_of(cell, method, {}, inputs=3, hidden=self.hidden)
        for steps in (1, self.steps):
            x, start = drawn(built, steps, batch=1)
            if batch_norms(built):
                with pytest.raises(ValueError, match="2 or more examples"):
                    self.unroll(built, x, start)
            else:
                assert max(of_both(self.unroll, built, x, start).values()) < EXACT

    @of_batch_norm
    @pytest.mark.parametrize("extra", [2, -2], ids=["fewer steps than known", "more"])
    def test_evaluation_by_the_population_equals_the_reference(
        self, cell: str, method: str, options: dict[str, Any], extra: int
    ) -> None:
        built, x, start = self.drawn(cell, method, options)
        know_a_population(built.eval(), steps=self.steps + extra)
        mask = some_mask(self.steps, self.batch)
        with torch.no_grad():
            for t in (0, 2):
                found, expected = (unroll(built, x, start, t, mask) for unroll in (self.unroll, recurrent.unroll))
                for ours, theirs in zip([found.y, *found.end], [expected.y, *expected.end], strict=True):
                    assert relative(ours, theirs) < EXACT
                assert found.moments == {}

    def test_gradient_in_evaluation_equals_the_reference(self) -> None:
        built, x, start = self.drawn("lstm", "recurrent_batch_norm")
        know_a_population(built.eval(), steps=2)
        assert set(of_both(self.unroll, built, x, start).values()) == {0.0}

    def test_population_collected_by_twin_and_reference_is_the_same(self) -> None:
        built, x, start = self.drawn("lstm", "recurrent_batch_norm", {"population": "pass"})
        populations = []
        with torch.no_grad():
            for unroll in (self.unroll, recurrent.unroll):
                with population_statistics(built.eval()):
                    recurrent.take_in_moments(built, unroll(built, x, start).moments)
                populations.append(
                    {name: (norm.running_mean, norm.running_var) for name, norm in batch_norms(built).items()}
                )
        assert populations[0].keys() == populations[1].keys() == {"norm_x", "norm_h", "norm_c"}
        for name, known in populations[0].items():
            for ours, theirs in zip(known, populations[1][name], strict=True):
                assert relative(ours, theirs) < EXACT

    @pytest.mark.parametrize("options", [{}, {"input_statistics": "sequence"}], ids=["each step", "all steps"])
    def test_moments_of_an_interrupted_pass_are_not_counted_in_the_next_pass(self, options: dict[str, Any]) -> None:
        built, x, start = self.drawn("lstm", "recurrent_batch_norm", options)
        expected = self.unroll(built, x, start).moments["norm_x"]
        built.input_term(x + 1, 0)
        assert torch.equal(self.unroll(built, x, start).moments["norm_x"], expected)

    @pytest.mark.parametrize("place", ["inside", "both"])
    def test_bias_inside_a_norm_over_all_steps_equals_the_reference(self, place: str) -> None:
        """A user's own method may put the bias inside. The mean of the population does not cancel the bias."""
        built, x, start = self.drawn("lstm", "sequence_batch_norm")
        built.bias_place = place
        found = of_both(self.unroll, built, x, start)
        assert max(found.values()) < EXACT, found
        know_a_population(built.eval(), steps=1)
        with torch.no_grad():
            ours, theirs = (unroll(built, x, start).y for unroll in (self.unroll, recurrent.unroll))
        assert relative(ours, theirs) < EXACT

    @default
    @pytest.mark.parametrize("scale", [1e6, 1e-20, 0.0], ids=str)
    def test_inputs_of_any_size_and_constant_features_equal_the_reference(
        self, cell: str, method: str, scale: float
    ) -> None:
        built, x, start = self.drawn(cell, method)
        x = x * scale
        x[..., 0] = scale
        found, expected = (everything(unroll, built, x, start) for unroll in (self.unroll, recurrent.unroll))
        nothing = 1e-15 if scale > 1 else TINIEST  # the gradient of a saturated sigmoid is e^-80 times the inputs
        off = differences(found, expected, nothing)
        assert max(off.values()) < 1e-9, off

    @default
    def test_state_shared_by_all_examples_is_taken_for_constant_in_float32(self, cell: str, method: str) -> None:
        built = cell_of(cell, method, {}, inputs=3, hidden=self.hidden).float()
        x, _ = drawn(built, steps=3, batch=4 * self.batch)
        x[0] = x[0, :1]  # the first input is the same for all examples
        start = built.initial_state(4 * self.batch)
        found, expected = (everything(unroll, built, x, start) for unroll in (self.unroll, recurrent.unroll))
        assert max(differences(found, expected).values()) < 2e-4
        for name, moments in found.items():
            if name.startswith("moments"):
                assert not moments[1, 0].any(), "the variance of the first step"

    def rows_that_differ(self, cell: str, by: float) -> tuple[Any, Tensor, Any]:
        """Make a cell and a state h of 100 whose products cancel; one number of h differs by ``by``."""
        built = cell_of(cell, "recurrent_batch_norm", {}, inputs=2, hidden=4)
        x, start = drawn(built, steps=1, batch=3)
        with torch.no_grad():
            signs = torch.tensor([1.0, -1.0, 1.0, -1.0])
            built.weight_hh.copy_(signs * built.weight_hh.abs().mean(1, keepdim=True))
        h = torch.full_like(start.h, 100.0)
        h[1, 0] += by
        return built, x, start._replace(h=h)

    @pytest.mark.parametrize("cell", ["lstm", "gru"])
    def test_rounding_is_judged_by_the_size_of_the_products(self, cell: str) -> None:
        """Rows of h differ by the last place and their products cancel: this difference counts as rounding."""
        drawn = self.rows_that_differ(cell, by=2e-14)  # the next float after 100
        found, expected = (everything(unroll, *drawn) for unroll in (self.unroll, recurrent.unroll))
        assert not expected["moments of norm_h"][1].any()
        assert not found["moments of norm_h"][1].any()
        assert max(differences(found, expected, nothing=1).values()) < EXACT  # the gain's gradient is rounding only

    @pytest.mark.parametrize("cell", ["lstm", "gru"])
    def test_difference_larger_than_rounding_has_a_variance(self, cell: str) -> None:
        for unroll in (self.unroll, recurrent.unroll):
            moments = unroll(*self.rows_that_differ(cell, by=2e-12)).moments["norm_h"]  # 141 floats apart
            assert (moments[1] > 0).all()

    @default
    def test_float32_is_close_to_float64(self, cell: str, method: str) -> None:
        built, x, start = self.drawn(cell, method)
        exact = everything(recurrent.unroll, built, x, start)
        found = differences(everything(self.unroll, *in_float32(built, x, start)), exact)
        assert max(found.values()) < 1e-5, found

    @default
    @pytest.mark.parametrize("scale", [1e6, 1e-20], ids=str)
    def test_inputs_of_any_size_in_float32_are_as_accurate_as_eager_torch(
        self, cell: str, method: str, scale: float
    ) -> None:
        built, x, start = self.drawn(cell, method)
        x = x * scale
        exact = everything(recurrent.unroll, built, x, start)
        torch.set_flush_denormal(True)
        try:
            fused, eager = (
                differences(everything(unroll, *in_float32(built, x, start)), exact, nothing=1e-15)
                for unroll in (self.unroll, recurrent.unroll)
            )
        finally:
            torch.set_flush_denormal(False)
        for name, off in fused.items():
            assert off < max(1e-5, 5 * eager[name]), (name, off, eager[name])

    @default
    def test_the_same_call_gives_the_same_bits(self, cell: str, method: str) -> None:
        built, x, start = self.drawn(cell, method)
        first, second = (everything(self.unroll, built.float(), x.float(), start) for _ in range(2))
        for name, tensor in first.items():
            assert torch.equal(tensor, second[name]), name

    @default
    def test_sequence_in_two_parts_gives_the_same_outputs(self, cell: str, method: str) -> None:
        built, x, start = self.drawn(cell, method)
        with torch.no_grad():
            whole = self.unroll(built, x, start)
            first = self.unroll(built, x[:2], start)
            second = self.unroll(built, x[2:], first.end, 2)
        assert relative(torch.cat([first.y, second.y]), whole.y) < EXACT

    @default
    def test_inputs_that_are_not_contiguous_give_the_same_results(self, cell: str, method: str) -> None:
        built, x, start = self.drawn(cell, method)
        strange = x.permute(2, 1, 0).contiguous().permute(2, 1, 0)
        assert not strange.is_contiguous()
        expected, found = (everything(self.unroll, built, x, start) for x in (x, strange))
        assert max(differences(found, expected).values()) < EXACT

    @default
    def test_nan_in_the_inputs_gives_nan_in_the_outputs(self, cell: str, method: str) -> None:
        built, x, start = self.drawn(cell, method)
        x[1, 2, 1] = torch.nan
        y = self.unroll(built, x, start).y
        assert y[0].isfinite().all()
        assert y[1, 2].isnan().all()
        others = [b for b in range(self.batch) if b != 2]
        assert y[:, others].isfinite().all() == (method != "recurrent_batch_norm")

    def test_shapes_that_do_not_fit_are_refused_with_the_message_of_the_reference(self) -> None:
        built, x, start = self.drawn("lstm", "layer_norm")
        wide, small = torch.cat([x, x], 2), type(start)(*[part[:1] for part in start])
        for arguments in ((wide, start), (x[:, :0], start), (x, small, 0, torch.ones(1, 1, dtype=torch.bool))):
            with pytest.raises((RuntimeError, IndexError)) as expected:
                recurrent.unroll(built, *arguments)
            with pytest.raises(expected.type, match=re.escape(str(expected.value))):
                self.unroll(built, *arguments)

    @pytest.mark.parametrize("at", ["cell", "norm_h", "norm_c"])
    def test_subclass_runs_by_the_reference(self, at: str) -> None:
        """A cell with parametrized weights is a subclass, too: torch makes it."""
        built, x, start = self.drawn("lstm", "layer_norm")
        before = self.unroll(built, x, start).y
        module = built if at == "cell" else getattr(built, at)

        class Another(type(module)):  # type: ignore[misc]
            def step(self, term: Tensor, state: Any, t: int) -> Any:
                h, c = super().step(term, state, t)
                return type(state)(2 * h, c)

            def forward(self, a: Tensor, *rest: Any, **named: Any) -> Tensor:
                normalized: Tensor = 2 * super().forward(a, *rest, **named)
                return normalized

        module.__class__ = Another
        y = self.unroll(built, x, start).y
        assert torch.equal(y, recurrent.unroll(built, x, start).y)
        assert relative(y, before) > 0.01

    @pytest.mark.parametrize("cell", CELLS)
    def test_gradients_are_right_if_only_the_end_or_only_the_outputs_are_used(self, cell: str) -> None:
        built, x, start = self.drawn(cell, "layer_norm")
        for loss in (lambda done: done.y.sum(), lambda done: sum(part.sum() for part in done.end)):
            grads = []
            for unroll in (self.unroll, recurrent.unroll):
                built.zero_grad()
                loss(unroll(built, x, start)).backward()  # type: ignore[no-untyped-call]
                grads.append(built.weight_hh.grad)
            assert relative(*grads) < EXACT

    def test_normalized_cell_can_be_carried_without_a_norm(self) -> None:
        """A user's own method may carry the cell with its bias."""
        built, x, start = self.drawn("lstm", "none")
        built.carries_normalized_cell = True
        found = of_both(self.unroll, built, x, start)
        assert max(found.values()) < EXACT, found

    def test_the_gradient_of_the_gradient_is_refused(self) -> None:
        built, x, start = self.drawn("lstm", "none")
        loss = self.unroll(built, x, start).y.square().sum()
        with pytest.raises(RuntimeError, match=r"set training\.kernel to reference"):
            torch.autograd.grad(loss, built.weight_hh, create_graph=True)

    def test_backward_runs_twice_with_a_retained_graph(self) -> None:
        built, x, start = self.drawn("lstm", "layer_norm")
        loss = self.unroll(built, x, start).y.square().sum()
        once, again = (torch.autograd.grad(loss, built.weight_hh, retain_graph=True)[0] for _ in range(2))
        assert torch.equal(once, again)

    @pytest.mark.parametrize(("cell", "method", "bidirectional"), IN_NETWORKS)
    def test_networks_with_layers_directions_and_lengths_equal_the_reference(
        self, cell: str, method: str, bidirectional: bool
    ) -> None:
        options = CELLS[cell].model_validate(
            {"hidden_size": self.hidden, "num_layers": 2, "bidirectional": bidirectional}
        )
        norm = METHODS[method].model_validate({"method": method, **METHODS[method].defaults(type(options))})
        found: list[dict[str, Any]] = []
        for kernel, unroll in (("fused", self.unroll), ("reference", recurrent.unroll)):
            torch.default_generator.manual_seed(0)
            network = Recurrent(options, 3, norm, kernel, unroll).double()
            x = torch.randn(3, 4, 3, dtype=torch.float64, requires_grad=True)
            y, end = network(x, torch.tensor([3, 0, 1, 2]))
            (y.square().sum() + sum(part.sum() for state in end.cells for part in state)).backward()
            grads = {name: parameter.grad for name, parameter in network.named_parameters()}
            assert grads["cells.0.h0"] is not None
            assert grads["cells.0.h0"].any(), "the trained first state"
            found.append({"y": y.detach(), "x": x.grad, **grads})
        assert max(differences(found[0], found[1]).values()) < EXACT
