"""Reference page of the spec: its fields, training, optimizers and other models, written from their classes."""

import yaml

from guide.reference.markdown import joined, options, prose
from normcore.spec import AnalysisSpec, TrainingSpec, resolve
from normcore.spec.models import MODELS
from normcore.spec.optimizers import OPTIMIZERS
from normcore.spec.part import Part
from normcore.spec.training import LinearDecay, Training

EXAMPLE = {"task": {"name": "permuted_digits"}, "norm": {"method": "layer_norm"}, "seeds": [0, 1, 2]}
PARTS = ("spec_version", "kind", "task", "model", "norm", "training")


def page() -> str:
    """Markdown of the page of the spec."""
    resolved = resolve(EXAMPLE).model_dump(mode="json")
    return joined(
        "# Spec",
        "A spec says all that decides a result. It is JSON or YAML. An unknown field is an error, and the answer names"
        " the field. What a spec omits comes from the profile of its task, so this is a whole spec:",
        _yaml(EXAMPLE),
        "The service resolves it, stores the resolved spec and answers with it:",
        _yaml(resolved),
        "`task`, `model`, `norm` and `training` decide the fingerprint. A field that has the default of its class is"
        " left out of the fingerprint. `seeds`, `device`, `priority` and `labels` are not part of it.",
        "The options of tasks, methods and cells have pages of their own: [tasks](tasks.md), [methods](methods.md),"
        " [cells](cells.md).",
        "## Around the parts",
        options(TrainingSpec.model_json_schema(), without=PARTS),
        "## Training",
        prose(Training.__doc__),
        options(Training.model_json_schema()),
        "### Schedule",
        prose(LinearDecay.__doc__),
        options(LinearDecay.model_json_schema(), without=("name",)),
        "## Optimizers",
        *(_kind(name, kind, "name") for name, kind in OPTIMIZERS.ours.items()),
        "## Models that are not a cell",
        *(
            _kind(tag, kind, "cell")
            for family in MODELS.ours.values()
            for tag, kind in family.kinds().items()
            if kind.cell_kind() is not kind
        ),
        "## Analyses",
        prose(AnalysisSpec.__doc__),
    )


def _kind(tag: str, kind: type[Part], field: str) -> str:
    return joined(f"### {tag}", prose(kind.__doc__), options(kind.model_json_schema(), without=(field,)))


def _yaml(spec: object) -> str:
    return f"```yaml\n{yaml.safe_dump(spec, sort_keys=False, width=100)}```"
