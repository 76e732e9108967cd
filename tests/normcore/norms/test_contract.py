"""Contract of methods in every cell. New methods and cells are tested without a change here."""

import copy
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import normcore.cells
import normcore.norms
from normcore.norms import Place, build
from normcore.norms.batch_statistics import BatchStatistics
from normcore.norms.population import batch_statistics, population_statistics
from normcore.recurrent import Recurrent
from normcore.spec.cells import CELLS
from normcore.spec.methods import METHODS
from normcore.spec.methods.method import Method
from tests.normcore.networks import recurrent, taking_in
from tests.normcore.norms.lines_to_write import in_float32_as_in_float64

STEPS, BATCH, INPUTS, HIDDEN, LAYERS = 6, 5, 3, 4, 2


def options_of(method: str, **own: object) -> Method:
    return METHODS[method].model_validate({"method": method, **own})


PAIRS = [(name, cell) for name, method in METHODS.items() for cell in CELLS if method.fits(CELLS[cell])]
OF_CELLS = [name for name in METHODS if any(METHODS[name].fits(cell) for cell in CELLS.values())]
each_pair = pytest.mark.parametrize(("method", "cell"), PAIRS)
each_pair_in_pieces = pytest.mark.parametrize(
    ("method", "cell"), [(m, c) for m, c in PAIRS if not options_of(m).whole_sequences]
)
each_direction = pytest.mark.parametrize("bidirectional", [False, True], ids=["forward", "both_directions"])
each_direction_and_dtype = pytest.mark.parametrize(  # in pairs, because dtype and direction are independent
    ("bidirectional", "dtype"),
    [(False, torch.float32), (True, torch.float64)],
    ids=["forward-float32", "both_directions-float64"],
)


def needs_batch(method: str, cell: str) -> bool:
    return options_of(method).needs_batch(CELLS.validate({"cell": cell}))


def network(method: str, cell: str, bidirectional: bool = False, seed: int = 0) -> Recurrent:
    torch.default_generator.manual_seed(seed)
    norm = {**METHODS[method].defaults(CELLS[cell]), "method": method}
    return recurrent(cell, INPUTS, HIDDEN, LAYERS, bidirectional, norm=norm)


def sequence(steps: int = STEPS, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(steps, BATCH, INPUTS, dtype=dtype, generator=torch.Generator().manual_seed(1))


def ready_to_evaluate(network: Recurrent, steps: int = STEPS) -> Recurrent:
    """Put a network into evaluation mode, with population statistics of sequences of ``steps`` steps if it uses any."""
    with torch.no_grad(), population_statistics(network):
        network(sequence(steps, next(network.parameters()).dtype))
    return network.eval()


@pytest.mark.parametrize("method", METHODS.ours)
def test_tag_of_a_method_is_the_name_of_its_file(method: str) -> None:
    assert (Path(normcore.norms.__file__).parent / f"{method}.py").is_file()


@pytest.mark.parametrize("cell", CELLS.ours)
def test_tag_of_a_cell_is_the_name_of_its_file(cell: str) -> None:
    assert (Path(normcore.cells.__file__).parent / f"{cell}.py").is_file()


@each_direction_and_dtype
@each_pair
def test_outputs_and_states_have_the_right_shape_and_dtype(
    method: str, cell: str, bidirectional: bool, dtype: torch.dtype
) -> None:
    ours = network(method, cell, bidirectional).to(dtype)
    directions = 2 if bidirectional else 1
    for mode in (ours, ready_to_evaluate(ours)):
        y, state = mode(sequence(dtype=dtype))
        assert y.shape == (STEPS, BATCH, HIDDEN * directions)
        assert y.dtype == dtype
        assert y.isfinite().all()
        assert state.t == STEPS
        assert len(state.cells) == LAYERS * directions
        assert all(part.shape == (BATCH, HIDDEN) and part.dtype == dtype for cell in state.cells for part in cell)


@each_direction_and_dtype
@each_pair
def test_every_parameter_gets_a_finite_gradient(
    method: str, cell: str, bidirectional: bool, dtype: torch.dtype
) -> None:
    ours = network(method, cell, bidirectional).to(dtype)
    for mode in (ours, ready_to_evaluate(ours)):
        mode.zero_grad()
        y, _ = mode(sequence(dtype=dtype))
        (y * torch.randn_like(y)).sum().backward()
        for name, parameter in mode.named_parameters():
            assert parameter.grad is not None, name
            assert parameter.grad.isfinite().all(), name
            shared_start = name.endswith("h0") or name.endswith("c0")  # batch statistics cancel its effect
            assert shared_start or parameter.grad.abs().max() > 0, name


@each_pair
def test_sequence_of_one_step_is_accepted(method: str, cell: str) -> None:
    ours = network(method, cell)
    assert ours(sequence(1))[0].shape == (1, BATCH, HIDDEN)
    assert ready_to_evaluate(ours, steps=1)(sequence(1))[0].shape == (1, BATCH, HIDDEN)


@each_direction
@each_pair
def test_loaded_network_gives_the_numbers_of_the_saved_one(method: str, cell: str, bidirectional: bool) -> None:
    saved = ready_to_evaluate(network(method, cell, bidirectional))
    loaded = network(method, cell, bidirectional, seed=1)
    loaded.load_state_dict(saved.state_dict())
    x = sequence(STEPS + 2)
    assert torch.equal(loaded.eval()(x)[0], saved(x)[0])
    shorter = ready_to_evaluate(network(method, cell, bidirectional, seed=2), steps=2)
    loaded.load_state_dict(shorter.state_dict())
    assert torch.equal(loaded(x)[0], shorter(x)[0])


@each_pair
def test_a_sequence_in_chunks_equals_the_whole(method: str, cell: str) -> None:
    """The chunks may have any lengths, also beyond the steps with known statistics."""
    ours = ready_to_evaluate(network(method, cell), steps=4).double()
    x = sequence(11, torch.float64)
    whole, end = ours(x)
    for lengths in ([11], [3, 8], [1] * 11, [5, 2, 4]):
        state, chunks = None, []
        for chunk in torch.split(x, lengths):
            y, state = ours(chunk, state=state)
            chunks.append(y)
        torch.testing.assert_close(torch.cat(chunks), whole, rtol=0, atol=1e-12)
        assert state is not None
        assert state.t == end.t == 11
        for ours_end, whole_end in zip(state.cells, end.cells, strict=True):
            for part, expected in zip(ours_end, whole_end, strict=True):
                torch.testing.assert_close(part, expected, rtol=0, atol=1e-12)


@each_pair_in_pieces
def test_sequence_in_chunks_equals_the_whole_in_training_mode(method: str, cell: str) -> None:
    ours = network(method, cell).double()
    x = sequence(dtype=torch.float64)
    first, state = ours(x[:2])
    second, _ = ours(x[2:], state=state)
    torch.testing.assert_close(torch.cat([first, second]), ours(x)[0], rtol=0, atol=1e-12)


@each_pair
def test_examples_do_not_affect_each_other_in_evaluation(method: str, cell: str) -> None:
    ours = ready_to_evaluate(network(method, cell)).double()
    x = sequence(dtype=torch.float64)
    alone = torch.cat([ours(x[:, n : n + 1])[0] for n in range(BATCH)], 1)
    torch.testing.assert_close(ours(x)[0], alone, rtol=0, atol=1e-12)


@each_pair
def test_forward_passes_leave_the_state_alone(method: str, cell: str) -> None:
    ours = ready_to_evaluate(network(method, cell))
    before = {name: value.clone() for name, value in ours.state_dict().items()}
    ours.train()(sequence())
    with batch_statistics(ours.eval()):
        ours(sequence())
    ours(sequence())
    after = ours.state_dict()
    assert after.keys() == before.keys()
    assert all(torch.equal(after[name], value) for name, value in before.items())


@each_direction
@each_pair
def test_padded_examples_give_what_they_give_alone(method: str, cell: str, bidirectional: bool) -> None:
    """Each example gives what it gives alone without padding. After its end the last state is repeated."""
    ours = ready_to_evaluate(network(method, cell, bidirectional)).double()
    x = sequence(dtype=torch.float64)
    lengths = [STEPS, 1, 4, 3, 2]
    padded, end = ours(x, torch.tensor(lengths))
    for n, length in enumerate(lengths):
        alone, alone_end = ours(x[:length, n : n + 1])
        torch.testing.assert_close(padded[:length, n], alone[:, 0], rtol=0, atol=1e-12)
        for state, expected in zip(end.cells, alone_end.cells, strict=True):
            for part, alone_part in zip(state, expected, strict=True):
                torch.testing.assert_close(part[n], alone_part[0], rtol=0, atol=1e-12)
        if not bidirectional:
            assert torch.equal(padded[length:, n], padded[length - 1, n].expand(STEPS - length, HIDDEN))


@each_pair
def test_steps_that_are_padding_everywhere_change_no_training(method: str, cell: str) -> None:
    ours = network(method, cell).double()
    lengths = torch.tensor([STEPS, 1, 4, 3, 2])
    x = sequence(dtype=torch.float64)
    gradients = []
    for padding in (0, 3):
        ours.zero_grad()
        longer = torch.cat([x, 5 + sequence(3, torch.float64)[:padding]])
        y, _ = ours(longer, lengths)
        y[:STEPS].square().sum().backward()
        gradients.append([y[:STEPS].detach(), *(parameter.grad for parameter in ours.parameters())])
    for shorter, longer in zip(*gradients, strict=True):
        torch.testing.assert_close(longer, shorter, rtol=0, atol=1e-12)


@each_pair
def test_steps_that_are_padding_everywhere_leave_no_statistics(method: str, cell: str) -> None:
    """Steps of padding change neither the population statistics nor those used beyond the longest sequence."""
    lengths = torch.tensor([4, 1, 4, 3, 2])
    x = sequence(dtype=torch.float64)
    outputs = []
    for padding in (0, 3):
        ours = network(method, cell).double()
        longer = torch.cat([x[:4], torch.zeros(padding, BATCH, INPUTS, dtype=torch.float64)])
        with torch.no_grad(), population_statistics(ours):
            ours(longer, lengths)
        outputs.append(ours.eval()(x)[0])
    assert torch.equal(outputs[0], outputs[1])


@pytest.mark.parametrize(("method", "cell"), [(m, c) for m, c in PAIRS if not needs_batch(m, c)])
def test_content_of_the_padding_changes_nothing(method: str, cell: str) -> None:
    """Padding may even be NaN."""
    lengths = torch.tensor([STEPS, 1, 4, 3, 2])
    x = sequence(dtype=torch.float64)
    spoilt = x.masked_fill((torch.arange(STEPS).unsqueeze(1) >= lengths).unsqueeze(2), float("nan"))
    found = []
    for padded in (x, spoilt):
        ours = network(method, cell, bidirectional=True).double()
        y, _ = ours(padded, lengths)
        y.square().sum().backward()
        found.append([y.detach(), *(parameter.grad for parameter in ours.parameters())])
    for clean, expected in zip(*found, strict=True):
        assert torch.equal(clean, expected)


@pytest.mark.parametrize(("method", "cell"), [(m, c) for m, c in PAIRS if needs_batch(m, c)])
def test_padding_counts_in_batch_statistics(method: str, cell: str) -> None:
    """Batch statistics count every example at every step."""
    lengths = torch.tensor([STEPS, 1, 4, 3, 2])
    x = sequence(dtype=torch.float64)
    zeros = x.masked_fill((torch.arange(STEPS).unsqueeze(1) >= lengths).unsqueeze(2), 0)
    ours = network(method, cell).double()
    (y, _), (other, _) = ours(x, lengths), ours(zeros, lengths)
    assert torch.equal(other[0], y[0])
    assert not torch.allclose(other[1:, 0], y[1:, 0])


@each_pair
def test_an_example_that_is_all_padding_keeps_the_first_state(method: str, cell: str) -> None:
    ours = network(method, cell)
    with torch.no_grad():
        for name, parameter in ours.named_parameters():
            if name.endswith(("h0", "c0")):
                parameter.add_(0.5)
    y, end = ours(sequence(), torch.tensor([STEPS, 0, 4, 3, 2]))
    assert all(part[1].eq(0.5).all() for state in end.cells for part in state)
    assert y[:, 1].eq(0.5).all()
    y.sum().backward()
    assert all(parameter.grad is not None and parameter.grad.isfinite().all() for parameter in ours.parameters())


@each_pair
def test_batch_of_one_trains_or_is_refused_with_the_reason(method: str, cell: str) -> None:
    ours = network(method, cell)
    if needs_batch(method, cell):
        with pytest.raises(ValueError, match=r"expected 2 or more examples.*use a larger batch, or evaluation mode"):
            ours(sequence()[:, :1])
    else:
        assert ours(sequence()[:, :1])[0].isfinite().all()
    assert ready_to_evaluate(ours)(sequence()[:, :1])[0].isfinite().all()


@pytest.mark.parametrize("site", ["input", "recurrent", "sum", "cell"])
@pytest.mark.parametrize("method", [m for m in OF_CELLS if not options_of(m).whole_sequences])
def test_many_steps_at_once_equal_single_steps(method: str, site: Place) -> None:
    torch.default_generator.manual_seed(0)
    options = {"sites": (site,)} if "sites" in METHODS[method].model_fields else {}
    norm = build(options_of(method, **options)).norm(HIDDEN, site).double()
    a = torch.randn(STEPS, BATCH, HIDDEN, dtype=torch.float64)
    with population_statistics(norm):
        taking_in(norm, a[:4])
    for mode in (norm.train(), norm.eval()):
        at_once = mode(a, 1)
        assert at_once.shape == a.shape
        torch.testing.assert_close(at_once, torch.stack([mode(a[t], 1 + t) for t in range(STEPS)]), rtol=0, atol=1e-12)


HALF_AN_ULP = 2**-8  # of bfloat16, relative


@pytest.mark.parametrize("site", ["input", "recurrent", "sum", "cell"])
@pytest.mark.parametrize("method", OF_CELLS)
def test_bfloat16_statistics_are_exact_up_to_rounding_to_bfloat16(method: str, site: Place) -> None:
    """A mean of 20 would have an error of 0.06 if it were computed in bfloat16."""
    options = {"sites": (site,)} if "sites" in METHODS[method].model_fields else {}
    torch.default_generator.manual_seed(0)
    norm = build(options_of(method, **options)).norm(64, site)
    with torch.no_grad():
        for parameter in norm.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    hold_bfloat16_against_float64(norm, (20 + torch.randn(3, 16, 64)).bfloat16(), 0)


def hold_bfloat16_against_float64(norm: nn.Module, a: Tensor, *step: int) -> None:
    exact = copy.deepcopy(norm).double()(a.double(), *step)
    told = f"{norm} is not as in float64.\n{in_float32_as_in_float64(norm)}"
    torch.testing.assert_close(norm(a, *step).double(), exact, rtol=HALF_AN_ULP, atol=1e-4, msg=told)


def layer(method: str, shape: tuple[int, ...]) -> nn.Module:
    """Build a layer's norm with random parameters and with population statistics."""
    torch.default_generator.manual_seed(0)
    options = {"groups": 3} if method == "group_norm" else {}
    norm = build(options_of(method, **options)).layer(shape).double()
    with torch.no_grad():
        for parameter in norm.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    with population_statistics(norm):
        norm(torch.randn(BATCH, *shape, dtype=torch.float64))
    return norm


LAYERS_OF = [(m, s) for m in METHODS for s in [(6,), (6, 3, 2)] if m != "instance_norm" or len(s) == 3]
each_layer = pytest.mark.parametrize(("method", "shape"), LAYERS_OF, ids=[f"{m}-{len(s)}" for m, s in LAYERS_OF])


@each_layer
def test_a_layer_keeps_shape_and_dtype(method: str, shape: tuple[int, ...]) -> None:
    norm = layer(method, shape)
    for dtype in (torch.float64, torch.float32, torch.bfloat16):
        a = torch.randn(BATCH, *shape).to(dtype)
        for mode in (norm.to(torch.float32 if dtype == torch.bfloat16 else dtype).train(), norm.eval()):
            assert mode(a).shape == a.shape
            assert mode(a).dtype == dtype


@each_layer
def test_a_layers_gradients_agree_with_finite_differences(method: str, shape: tuple[int, ...]) -> None:
    norm = layer(method, shape)
    names = [name for name, _ in norm.named_parameters()]
    inputs = (torch.randn(4, *shape, dtype=torch.float64), *(p.detach().clone() for p in norm.parameters()))
    inputs = tuple(value.requires_grad_() for value in inputs)

    def outputs(a: Tensor, *parameters: Tensor) -> Tensor:
        y: Tensor = torch.func.functional_call(norm, dict(zip(names, parameters, strict=True)), (a,))
        return y

    for training in (True, False):
        norm.train(training)
        if method == "batch_renorm" and training:
            continue  # by definition no gradient flows through r and d; test_batch_renorm.py has the equation
        assert torch.autograd.gradcheck(outputs, inputs, fast_mode=True)
        assert torch.autograd.gradgradcheck(outputs, inputs, fast_mode=True)


@each_layer
def test_examples_of_a_layer_do_not_affect_each_other_in_evaluation(method: str, shape: tuple[int, ...]) -> None:
    norm = layer(method, shape).eval()
    a = torch.randn(BATCH, *shape, dtype=torch.float64)
    alone = torch.cat([norm(a[n : n + 1]) for n in range(BATCH)])
    torch.testing.assert_close(norm(a), alone, rtol=0, atol=1e-12)


@each_layer
def test_layer_takes_one_example_or_refuses_it_with_the_reason(method: str, shape: tuple[int, ...]) -> None:
    """Statistics over the batch need two values; a single image has enough places."""
    norm = layer(method, shape)
    one = torch.randn(1, *shape, dtype=torch.float64)
    if isinstance(norm, BatchStatistics) and len(shape) == 1:
        with pytest.raises(ValueError, match=r"expected 2 or more examples.*use a larger batch, or evaluation mode"):
            norm.train()(one)
    else:
        assert norm.train()(one).isfinite().all()
    assert norm.eval()(one).isfinite().all()


@each_layer
def test_bfloat16_statistics_of_a_layer_are_exact_up_to_rounding_to_bfloat16(
    method: str, shape: tuple[int, ...]
) -> None:
    norm = layer(method, shape)
    a = (20 + torch.randn(16, *shape, generator=torch.Generator().manual_seed(0))).bfloat16()
    hold_bfloat16_against_float64(norm.float().train(), a)
