"""Layers inside of what people put around modules: hooks, and training in several processes."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from normcore.nn import GRU, LSTM, RNN
from normcore.nn.layers import Layer

KINDS: tuple[type[Layer], ...] = (LSTM, GRU, RNN)
NORMS = ("none", "layer_norm", "recurrent_batch_norm")


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_hooks_of_a_module_see_its_inputs_outputs_and_gradients(kind: type[Layer], norm: str) -> None:
    layer: Any = kind(3, 6, norm=norm)
    seen: dict[str, Any] = {}
    layer.register_forward_pre_hook(lambda _, args: seen.update(args=args))
    layer.register_forward_hook(lambda _, args, output: seen.update(output=output))
    layer.register_full_backward_hook(lambda _, into, outof: seen.update(into=into, outof=outof))
    x = torch.randn(5, 4, 3, requires_grad=True)
    y, _ = layer(x)
    assert seen["args"] == (x,)
    assert torch.equal(seen["output"][0], y)
    grad = torch.randn(5, 4, 6)
    torch.autograd.backward(y, grad)
    [of_x] = seen["into"]
    assert x.grad is not None
    assert torch.equal(of_x, x.grad)
    assert torch.equal(seen["outof"][0], grad)
    layer.register_forward_hook(lambda _, args, output: (2 * output[0], output[1]))
    torch.testing.assert_close(layer(x)[0], 2 * seen["output"][0])


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_hook_of_a_parameter_fires_once_with_its_whole_gradient(kind: type[Layer], norm: str) -> None:
    layer = kind(3, 6, num_layers=2, bidirectional=True, norm=norm)
    seen: list[tuple[str, Tensor]] = []
    parameters: dict[str, Any] = dict(layer.named_parameters())
    for name, parameter in parameters.items():
        parameter.register_post_accumulate_grad_hook(lambda p, name=name: seen.append((name, p.grad.clone())))
    layer(torch.randn(5, 4, 3))[0].square().sum().backward()
    assert sorted(name for name, _ in seen) == sorted(parameters)
    for name, grad in seen:
        assert torch.equal(grad, _gradient(layer, name))


COUNT = 2
PROCESS = """
import os
import sys
import torch
from torch import distributed, nn
from normcore.nn import LSTM

rank, folder = int(sys.argv[1]), sys.argv[2]
torch.set_num_threads(1)
distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
for norm in sys.argv[3:]:
    torch.manual_seed(rank)  # the weights of process 0 count
    layer = LSTM(3, 6, num_layers=2, norm=norm)
    parallel = nn.parallel.DistributedDataParallel(layer)
    fired = []
    for name, parameter in layer.named_parameters():
        parameter.register_post_accumulate_grad_hook(lambda p, name=name: fired.append(name))
    inputs = torch.load(f"{folder}/inputs.pt")[rank]
    with parallel.no_sync():
        parallel(inputs[0])[0].square().sum().backward()
    own = {name: p.grad.clone() for name, p in layer.named_parameters()}
    parallel(inputs[1])[0].square().sum().backward()
    found = {"own": own, "all": {name: p.grad for name, p in layer.named_parameters()}, "fired": fired}
    torch.save({**found, "state": layer.state_dict()}, f"{folder}/{norm}.{rank}.pt")
distributed.barrier()
os._exit(0)  # threads of gloo can abort a process that ends by itself
"""


def test_gradients_of_two_processes_are_averaged(tmp_path: Path) -> None:
    """``DistributedDataParallel`` over gloo. Without synchronization, a process has its own gradients; with it, all
    have the mean over the processes."""
    norms = ("layer_norm", "recurrent_batch_norm")
    inputs = torch.randn(COUNT, 2, 5, 4, 3, generator=torch.Generator().manual_seed(9))
    torch.save(inputs, tmp_path / "inputs.pt")
    command = [sys.executable, "-c", PROCESS]
    processes = [
        subprocess.Popen([*command, str(rank), str(tmp_path), *norms], stderr=subprocess.PIPE, text=True)
        for rank in range(COUNT)
    ]
    errors = [process.communicate(timeout=100)[1] for process in processes]
    assert [process.returncode for process in processes] == [0] * COUNT, errors
    for norm in norms:
        alone: list[Layer] = []
        first: list[dict[str, Tensor]] = []
        last: list[dict[str, Tensor]] = []
        for rank in range(COUNT):
            torch.manual_seed(0)
            layer = LSTM(3, 6, num_layers=2, norm=norm)
            alone.append(layer)
            for x, grads in zip(inputs[rank], (first, last), strict=True):
                layer(x)[0].square().sum().backward()
                grads.append({name: _gradient(layer, name).clone() for name, _ in layer.named_parameters()})
        for rank in range(COUNT):
            found = torch.load(tmp_path / f"{norm}.{rank}.pt")
            assert sorted(found["fired"]) == sorted(2 * [*first[rank]])
            torch.testing.assert_close(found["own"], first[rank])
            mean = {name: torch.stack([grads[name] for grads in last]).mean(0) for name in last[rank]}
            torch.testing.assert_close(found["all"], mean)
            if rank == 0:  # its running statistics are those of all
                torch.testing.assert_close(found["state"], dict(alone[rank].state_dict()))


def _gradient(layer: Layer, name: str) -> Tensor:
    grad = layer.get_parameter(name).grad
    assert grad is not None
    return grad
