"""Markdown that all tables of GPU results share."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

WIDTH = 120
CELLS = {"lstm": "LSTM", "gru": "GRU", "rnn": "RNN"}
MISSING = "–"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def paragraph(*sentences: str | None) -> str:
    """Join sentences to a paragraph; None stands for a sentence that does not apply."""
    return textwrap.fill(" ".join(filter(None, sentences)), WIDTH, break_long_words=False, break_on_hyphens=False)


def device_of(content: Mapping[str, Any]) -> str:
    return str(content["machine"]["gpu"] or content["machine"]["cpu"])


def origin(content: Mapping[str, Any]) -> str:
    """Tell on what and when the results of a part were measured, and what is missing."""
    machine = content["machine"]
    versions = [f"torch {machine['torch']}", f"triton {machine['triton']}"]
    versions += [f"cuDNN {machine['cudnn']}"] if machine["cudnn"] else []
    by = " by Triton's interpreter, which errs in bfloat16" if machine["interpreted"] else ""
    commit = (machine["git"] or "unknown")[:8]
    told = f"{device_of(content)}{by}, {', '.join(versions)}, {content['date']}, commit {commit}."
    return "\n\n".join([paragraph(told, _tell_left_out(content)), *_list_broken(content)])


def _tell_left_out(content: Mapping[str, Any]) -> str | None:
    left = len([name for name in content["left_out"] if name not in content["broken"]])
    return f"There was no time for {left} of {left + len(content['measured'])} measurements." if left else None


def _list_broken(content: Mapping[str, Any]) -> list[str]:
    lines = [f"- `{name}`: {broken['why'][:100]}" for name, broken in content["broken"].items()]
    return ["These measurements broke:\n\n" + "\n".join(lines)] if lines else []
