import torch

from normcore.norms import build
from normcore.norms.batch_norm import BatchNormLayer
from normcore.spec.methods.batch_renorm import BatchRenorm


def test_output_is_the_algorithm_without_gradients_of_the_corrections() -> None:
    torch.manual_seed(0)
    norm = build(BatchRenorm(eps=1e-3, r_max=1.2, d_max=0.3, momentum=0.25)).layer((4,)).double()
    first, a = torch.randn(5, 4, dtype=torch.float64), 2 * torch.randn(6, 4, dtype=torch.float64)
    norm(first)
    mean, std = first.mean(0), (first.var(0, correction=0) + 1e-3).sqrt()
    a.requires_grad_()
    batch_std = (a.var(0, correction=0) + 1e-3).sqrt()
    r = (batch_std / std).clamp(1 / 1.2, 1.2).detach()
    d = ((a.mean(0) - mean) / std).clamp(-0.3, 0.3).detach()
    assert (r == 1.2).any()
    assert (d.abs() == 0.3).any()
    assert (d.abs() < 0.3).any()
    expected = (a - a.mean(0)) / batch_std * r + d
    weights = torch.randn(6, 4, dtype=torch.float64)
    (wanted,) = torch.autograd.grad((expected * weights).sum(), a)
    ours = norm(a)
    (found,) = torch.autograd.grad((ours * weights).sum(), a)
    torch.testing.assert_close(ours, expected, rtol=0, atol=1e-12)
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-12)
    torch.testing.assert_close(norm.get_buffer("running_mean")[0], 0.75 * mean + 0.25 * a.mean(0).detach())
    torch.testing.assert_close(norm.get_buffer("running_var")[0].sqrt(), 0.75 * std + 0.25 * batch_std.detach())


def test_clips_that_allow_no_correction_give_batch_norm() -> None:
    torch.manual_seed(0)
    ours, plain = build(BatchRenorm(r_max=1.0, d_max=0.0)).layer((4,)), BatchNormLayer((4,), 1.0, 1e-5)
    for _ in range(3):
        a = torch.randn(6, 4)
        torch.testing.assert_close(ours(a), plain(a))


def test_training_and_evaluation_agree_within_the_clips() -> None:
    torch.manual_seed(0)
    norm = build(BatchRenorm(r_max=100.0, d_max=100.0)).layer((4,)).double()
    norm(torch.randn(64, 4, dtype=torch.float64))
    a = torch.randn(8, 4, dtype=torch.float64)
    mean, var = norm.get_buffer("running_mean").clone(), norm.get_buffer("running_var").clone()
    trained = norm(a)
    norm.running_mean, norm.running_var = mean, var
    torch.testing.assert_close(norm.eval()(a), trained, rtol=0, atol=1e-12)
