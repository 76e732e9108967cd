"""The environment of a run names the software and hardware that measured it."""

import platform

import torch

from normcore.environment import environment


def test_the_environment_names_packages_code_and_hardware() -> None:
    facts = environment(torch.device("cpu"), threads=2)
    assert facts["python"] == platform.python_version()
    assert facts["torch"] == torch.__version__
    assert facts["threads"] == 2
    assert facts["kernels"] is None
    assert facts["cpu"]
    assert facts["cores"] >= 1
    assert facts["gpu"] is facts["driver"] is facts["cuda"] is None
    assert facts["git"] is None or len(facts["git"].removesuffix("-dirty")) == 40


def test_environment_holds_only_plain_values() -> None:
    assert _kinds(environment(torch.device("cpu"), threads=1)) <= {str, int, float, bool, type(None)}


def _kinds(value: object) -> set[type]:
    if isinstance(value, dict):
        return set().union(*map(_kinds, value.values()))
    return {type(value)}
