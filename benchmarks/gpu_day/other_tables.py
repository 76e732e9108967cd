"""Tables and sentences of the parts ``exactness``, ``training`` and ``memory``."""

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.gpu_day.text import CELLS, MISSING, device_of, origin, paragraph, table
from benchmarks.kernels.contestants import Shape
from normcore.spec.kernels import FUSED_PAIRS

Content = Mapping[str, Any]
Found = Mapping[str, Any]
COMPARISONS = 6  # of a pair: three numbers of units, two precisions
MIB = 1 << 20


def exactness(results: Mapping[str, Content]) -> str | None:
    """Write one row for each pair, with its largest errors, and what the layers gave."""
    content = results["exactness"]
    found = [one for one in content["measured"].values() if "worst" in one]
    if not found:
        return None
    pairs = list(dict.fromkeys((one["cell"], one["method"]) for one in found))
    rows = [_pair(*pair, [one for one in found if (one["cell"], one["method"]) == pair]) for pair in pairs]
    head = ["cell and method", "tensors", "float32", "autocast to bfloat16", "verdict"]
    told = paragraph(
        _verdict(found),
        "Errors are relative to the largest number of a tensor and to float64, in the median of three networks.",
        "The table has the largest error of a pair. In brackets: the error of eager torch for this tensor.",
    )
    texts = [f"### Exactness: {device_of(content)}", origin(content), told, table(head, rows), *_layers(content)]
    return "\n\n".join(texts)


def _verdict(found: Sequence[Found]) -> str:
    pairs = {(one["cell"], one["method"]) for one in found}
    wrong = sorted({f"{one['cell']} with {one['method']}" for one in found if one["wrong"]})
    complete = [p for p in pairs if sum((o["cell"], o["method"]) == p for o in found) >= COMPARISONS]
    if wrong:
        return f"Not right: {', '.join(wrong)}."
    if len(complete) == len(FUSED_PAIRS):
        return f"All {len(pairs)} pairs are right: each tensor is within the bounds of a worker's check."
    return f"Nothing was wrong in what was measured: {len(complete)} of {len(FUSED_PAIRS)} pairs completely."


def _pair(cell: str, method: str, found: Sequence[Found]) -> list[str]:
    wrong = [name for one in found for name in one["wrong"]]
    verdict = f"wrong: {wrong[0]}" if wrong else "right" if len(found) >= COMPARISONS else "right as far as measured"
    tensors = sum(one["tensors"] for one in found)
    return [
        f"{CELLS[cell]} with {method}",
        f"{tensors:,}",
        *(_largest(found, p) for p in ("float32", "bfloat16")),
        verdict,
    ]


def _largest(found: Sequence[Found], precision: str) -> str:
    of = [one for one in found if one["precision"] == precision]
    if not of:
        return MISSING
    worst = max(of, key=lambda one: one["error"])
    return f"{worst['error']:.1e} ({worst['eager_error']:.1e})"


def _layers(content: Content) -> list[str]:
    measured = content["measured"]
    rows = []
    for cell in CELLS:
        beside, compiled = (measured.get(f"normcore.nn, {cell} {how}") for how in ("beside torch.nn", "compiled"))
        operator = measured.get(f"operator of {cell}")
        if beside or compiled or operator:
            rows.append(
                [
                    CELLS[cell],
                    f"{beside['error']:.1e} ({beside['theirs_error']:.1e})" if beside else MISSING,
                    f"{compiled['difference']:.1e}" if compiled else MISSING,
                    _checks(operator["checked"]) if operator else MISSING,
                ]
            )
    told = (
        "Layers of `normcore.nn` without norm, compared with `torch.nn` in float64. In brackets: the error of"
        " `torch.nn` itself on the device. Then the difference between a compiled layer with layer norm and the layer"
        " itself, and torch's checks of the operator."
    )
    head = ["layer", "error", "compiled with `fullgraph=True`", "`torch.library.opcheck`"]
    return [paragraph(told), table(head, rows)] if rows else []


def _checks(checked: Mapping[str, str]) -> str:
    failed = [f"{name}: {told[:80]}" for name, told in checked.items() if told != "SUCCESS"]
    return "; ".join(failed) or "passed"


def tell_trained(results: Mapping[str, Content]) -> str | None:
    """Say in one sentence on what a worker has trained."""
    content = results["training"]
    runs = [one for one in content["measured"].values() if "updates" in one]
    fused = sum("fused" in one["kernel"] for one in runs)
    if not runs:
        return None
    return paragraph(
        f"A worker has trained {len(runs)} runs on one {device_of(content)}, {fused} of them with the kernels."
    )


def tell_trial(results: Mapping[str, Content]) -> str | None:
    """Say how long the trial of the kernels took."""
    trial = results.get("training", {}).get("measured", {}).get("trial")
    if trial is None or not trial["tried"]:
        return None
    compiled = results.get("exactness", {}).get("measured", {}).get("compilation")
    device = device_of(results["training"])
    return paragraph(
        "A worker tries one pair after another.",
        f"On one {device}, it tried {trial['tried']} pairs and claimed its first run after"
        f" {trial['seconds_to_claim']:.0f} s, with kernels that had been compiled before.",
        f"The compilation takes {compiled['seconds_of_jobs']:.0f} s on one core." if compiled else None,
    )


def training(results: Mapping[str, Content]) -> str | None:
    """Write one row for each training, the worker's line on its kernels, and what a kill did."""
    content = results["training"]
    runs = {name: one for name, one in content["measured"].items() if "updates" in one}
    if not runs:
        return None
    rows = [_run(name, one) for name, one in runs.items()]
    head = ["training", "kernel", "updates", "an update", "from claim to end", "test value"]
    texts = [f"### Whole trainings: {device_of(content)}", origin(content), _what(runs), table(head, rows)]
    line = content["measured"].get("trial", {}).get("line")
    texts += [f"The worker's line on its kernels:\n\n    {line}"] if line else []
    return "\n\n".join([*texts, *_killed(runs)])


def _what(runs: Mapping[str, Found]) -> str:
    metric = next(iter(runs.values()))["metric"]
    return f"Task `char_lm`, profile `small`, by a worker of `normbench up`; the test value is `{metric}`."


def _run(name: str, one: Found) -> list[str]:
    update, whole = f"{one['seconds_per_update'] * 1e3:.1f} ms", f"{one['seconds_in_all']:.1f} s"
    return [
        name,
        one["kernel"],
        f"{one['updates']:,}",
        update,
        whole,
        MISSING if one["value"] is None else f"{one['value']:.4f}",
    ]


def _killed(runs: Mapping[str, Found]) -> list[str]:
    killed, undisturbed = runs.get("killed worker"), runs.get("layer_norm by auto")
    if killed is None:
        return []
    told = [f"A worker was killed after {killed['killed_at']} updates."]
    if killed["resumed_from_step"] is None:
        told.append("The next attempt began anew.")
    else:
        told.append(f"The next attempt went on from update {killed['resumed_from_step']}.")
    if undisturbed is not None:
        is_same = killed["value"] == undisturbed["value"]
        told.append(f"The test value {'is' if is_same else 'differs from'} that of the undisturbed training.")
    return [paragraph(*told)]


def memory(results: Mapping[str, Content]) -> str | None:
    """Write the peaks of a step beside cuDNN's, and those of trainings beside the predictions."""
    content = results["memory"]
    steps = [one for one in content["measured"].values() if "kernels" in one]
    trainings = {name: one for name, one in content["measured"].items() if "predicted" in one}
    texts = [_steps(steps)] if steps else []
    texts += [_trainings(trainings)] if trainings else []
    return "\n\n".join([f"### Memory: {device_of(content)}", origin(content), *texts]) if texts else None


def _steps(steps: Sequence[Found]) -> str:
    methods = list(steps[0]["kernels"])
    rows = [
        [
            f"{CELLS[one['cell']]}, {one['precision']}, {Shape(*one['shape'])}",
            f"{one['theirs'] / MIB:.0f} MiB",
            *(
                f"{one['kernels'][m] / one['theirs']:.2f} ({one['reference'][m] / one['kernels'][m]:.1f})"
                for m in methods
            ),
        ]
        for one in steps
    ]
    told = paragraph(
        "Peak of a training step with weights, gradients and the tensors of graphs, divided by cuDNN's.",
        "In brackets: how many times as much the reference takes.",
    )
    return f"{told}\n\n" + table(["shape (T,B,F,H)", "cuDNN", *methods], rows)


def _trainings(trainings: Mapping[str, Found]) -> str:
    rows = [
        [
            f"{name.removeprefix('training: ')} ({one['kernel']})",
            *(f"{one[what] / MIB:.1f} MiB" for what in ("predicted", "peak")),
            f"{one['peak'] / one['predicted']:.2f}",
        ]
        for name, one in trainings.items()
    ]
    above = [name.removeprefix("training: ") for name, one in trainings.items() if one["predicted"] > one["peak"]]
    verdict = (
        f"The prediction is above the peak, so too high, for: {', '.join(above)}."
        if above
        else "No prediction is above the peak."
    )
    told = paragraph("Memory that trainings are said to need, which must be a lower bound, and their peaks.", verdict)
    return f"{told}\n\n" + table(["training", "predicted", "peak", "peak / predicted"], rows)
