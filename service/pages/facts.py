"""Facts on how runs were computed: a single value where all runs agree, else a value for each group of seeds."""

from collections.abc import Mapping, Sequence

from service.experiments.schemas import RunOut
from service.wording import listed

Facts = list[tuple[str, list[tuple[str, str]]]]
"""Name of each fact, and its values. Each value comes with a text that names its seeds, empty for all seeds."""

FIRST = ("host", "device", "cpu", "gpu", "threads", "kernel", "torch", "normbench", "git", "python")
MAX_NAMED = 5  # seeds that are named; more seeds are counted


def facts(runs: Sequence[RunOut]) -> Facts:
    """Facts on the runs that have begun."""
    of_runs = {run.seed: _of(run) for run in runs if run.environment is not None}
    names = dict.fromkeys([*FIRST, *(name for found in of_runs.values() for name in found)])
    by_name = ((name, {seed: found[name] for seed, found in of_runs.items() if name in found}) for name in names)
    return [(name, _group_seeds(values, len(of_runs))) for name, values in by_name if values]


def _of(run: RunOut) -> Mapping[str, str]:
    environment = run.environment or {}
    plain = {name: content for name, content in environment.items() if name != "data"}
    data = {f"data: {name}": str(checksum) for name, checksum in (environment.get("data") or {}).items()}
    found = {"device": run.device, "kernel": run.kernel, **plain, **data}
    return {name: str(content) for name, content in found.items() if content is not None}


def _group_seeds(values: Mapping[int, str], of: int) -> list[tuple[str, str]]:
    seeds: dict[str, list[int]] = {}
    for seed, text in values.items():
        seeds.setdefault(text, []).append(seed)
    if len(seeds) == 1 and len(values) == of:
        return [(text, "") for text in seeds]
    return [(text, _name_seeds(own)) for text, own in seeds.items()]


def _name_seeds(seeds: Sequence[int]) -> str:
    if len(seeds) > MAX_NAMED:
        return f"{len(seeds)} seeds"
    return f"seed{'s' if len(seeds) > 1 else ''} {listed([str(seed) for seed in seeds])}"
