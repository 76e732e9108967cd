"""Citations on a terminal."""

from normbench import Client
from tests.normbench.cli.commands import from_json, normbench


def test_bibtex_is_printed_alone_or_as_json(api: str) -> None:
    printed = normbench("cite", "layer_norm")
    assert printed.startswith("@misc{ba2016layer,\n  title = {{Layer Normalization}},\n")
    assert printed.endswith("}\n")
    found = from_json("cite", "layer_norm")
    assert found == Client(api).cite("layer_norm")
    assert found["bibtex"] == printed


def test_an_unknown_name_is_told_with_what_was_meant(api: str) -> None:
    assert "did you mean 'layer_norm'?" in normbench("cite", "layer_nrom", status=2)
