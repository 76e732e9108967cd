import pytest
import torch

from normcore.norms import build
from normcore.norms.population import batch_statistics, population_statistics
from normcore.recurrent import Recurrent
from normcore.spec.methods.recurrent_batch_norm import RecurrentBatchNorm
from tests.normcore.networks import recurrent, taking_in


def normalized(cell: str = "lstm", **options: object) -> Recurrent:
    torch.manual_seed(0)
    return recurrent(cell, 3, 5, 2, norm={"method": "recurrent_batch_norm", **options})


def test_population_statistics_average_minibatch_means_and_biased_variances() -> None:
    norm = build(RecurrentBatchNorm()).norm(1, "input")
    batches = [[[1.0, 3.0], [0.0, 4.0]], [[10.0, 10.0], [2.0, 8.0]]]  # two batches, two steps, two examples
    with population_statistics(norm):
        for batch in batches:
            taking_in(norm, torch.tensor(batch).unsqueeze(-1))
    assert norm.get_buffer("running_mean").flatten().tolist() == [(2 + 10) / 2, (2 + 5) / 2]
    assert norm.get_buffer("running_var").flatten().tolist() == [(1 + 0) / 2, (4 + 9) / 2]  # pooled, step 0 had 16.5


def test_a_shorter_batch_repeats_its_last_step() -> None:
    norm = build(RecurrentBatchNorm()).norm(1, "input")
    with population_statistics(norm):
        taking_in(norm, torch.tensor([[1.0, 3.0]]).unsqueeze(-1))
        taking_in(norm, torch.tensor([[0.0, 2.0], [4.0, 8.0], [5.0, 5.0]]).unsqueeze(-1))
    assert norm.get_buffer("running_mean").flatten().tolist() == [(2 + 1) / 2, (2 + 6) / 2, (2 + 5) / 2]
    assert norm.get_buffer("running_var").flatten().tolist() == [(1 + 1) / 2, (1 + 4) / 2, (1 + 0) / 2]


def test_statistics_of_chunks_equal_statistics_of_the_whole() -> None:
    whole, chunked = normalized().double(), normalized().double()
    x = torch.randn(6, 7, 3, dtype=torch.float64)
    with torch.no_grad():
        with population_statistics(whole):
            whole(x)
        with population_statistics(chunked):
            _, state = chunked(x[:4])
            chunked(x[4:], state=state)
    assert whole.state_dict().keys() == chunked.state_dict().keys()
    for name, value in whole.state_dict().items():
        torch.testing.assert_close(chunked.state_dict()[name], value, rtol=0, atol=1e-12)


def test_evaluation_without_population_statistics_is_refused_with_the_repair() -> None:
    with pytest.raises(ValueError, match=r"expected population statistics.*population_statistics\(model\)"):
        normalized().eval()(torch.randn(2, 4, 3))


def test_batch_statistics_are_used_in_evaluation_mode_when_asked_for() -> None:
    network = normalized()
    x = torch.randn(4, 6, 3)
    trained, _ = network(x)
    network.eval()
    with batch_statistics(network):
        evaluated, _ = network(x)
    assert torch.equal(trained, evaluated)
    with pytest.raises(ValueError, match="population statistics"):
        network(x)


def test_former_statistics_stay_after_an_exception() -> None:
    network = normalized()
    with torch.no_grad(), population_statistics(network):
        network(torch.randn(4, 6, 3))
    before = {name: value.clone() for name, value in network.state_dict().items()}
    with pytest.raises(ValueError, match="expected x"), torch.no_grad(), population_statistics(network):
        network(network(torch.randn(5, 6, 3))[0])
    assert all(torch.equal(network.state_dict()[name], value) for name, value in before.items())
    assert all(getattr(module, "collecting", None) is None for module in network.modules())


def test_collecting_without_a_sequence_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one sequence"), population_statistics(normalized()):
        pass


def test_models_without_batch_norms_are_unchanged() -> None:
    network = recurrent("lstm", 3, 5, norm={"method": "layer_norm"})
    before = {name: value.clone() for name, value in network.state_dict().items()}
    with population_statistics(network), batch_statistics(network):
        pass
    assert all(torch.equal(network.state_dict()[name], value) for name, value in before.items())
