"""An analysis takes the parts of a spec that it needs and refuses the other parts."""

from typing import Any, Literal

import pytest

from normcore.spec import AnalysisSpec, InvalidSpec, TrainingSpec, parse, resolve
from normcore.spec.analyses.length_generalization import LengthGeneralization
from normcore.spec.analyses.population_statistics import PopulationStatistics
from normcore.spec.methods.layer_norm import LayerNorm
from normcore.spec.methods.recurrent_batch_norm import RecurrentBatchNorm
from normcore.spec.tasks.char_lm import CharLM
from normcore.spec.tasks.pixels import PermutedDigits
from tests.normcore.training_specs import recurrent_model

RUN = "run_01KAJ3V6BCDEFGHJKMNPQRSTVW"


def test_parts_that_the_analysis_uses_come_from_the_profile() -> None:
    spec = resolve({"task": {"name": "gradient_flow"}, "norm": {"method": "recurrent_batch_norm"}})
    assert isinstance(spec, AnalysisSpec)
    model = recurrent_model(spec.model)
    assert spec.norm is not None
    assert (model.cell, model.hidden_size, model.recurrent_init) == ("rnn", 100, "identity")
    norm = spec.norm.model_dump()
    assert (norm["sites"], norm["gain_init"], norm["initial_state_noise"]) == (("sum",), 0.1, 0.1)


def test_parts_that_the_analysis_does_not_use_are_absent() -> None:
    spec = resolve({"task": {"name": "fisher_geometry"}})
    assert (spec.model, spec.norm) == (None, None)
    assert resolve({"task": {"name": "invariances"}}).model is None


def test_stored_analysis_is_read_as_an_analysis() -> None:
    spec = resolve({"task": {"name": "hidden_dynamics"}, "model": {"cell": "gru"}, "seeds": [3]})
    stored = spec.model_dump(mode="json")
    assert stored["kind"] == "analysis"
    assert parse(stored) == spec == resolve(stored)


@pytest.mark.parametrize("mode", ["validation", "serialization"])
def test_schema_of_an_analysis_lists_all_models(mode: Literal["validation", "serialization"]) -> None:
    models, trained = (
        spec.model_json_schema(mode=mode)["properties"]["model"]["anyOf"] for spec in (AnalysisSpec, TrainingSpec)
    )
    assert models == [*trained, {"type": "null"}]
    assert {"$ref": "#/$defs/GRU"} in trained


def test_invariances_accept_group_norm_with_any_number_of_groups() -> None:
    for groups in ({}, {"groups": 3}):
        spec = resolve({"task": {"name": "invariances"}, "norm": {"method": "group_norm", **groups}})
        assert parse(spec.model_dump(mode="json")) == spec


@pytest.mark.parametrize(("sites", "now"), [(["sum"], ("layer",)), ([], ())])
def test_stored_sites_of_a_cell_become_the_site_of_a_layer(sites: list[str], now: tuple[str, ...]) -> None:
    """A method that had no sites has no sites afterwards."""
    stored = resolve({"task": {"name": "invariances"}, "norm": {"method": "layer_norm"}}).model_dump(mode="json")
    del stored["spec_version"]
    old = parse({**stored, "norm": {**stored["norm"], "sites": sites}})
    assert old.norm is not None
    assert old.norm.model_dump()["sites"] == now


@pytest.mark.parametrize(
    "stored", [{}, {"task": "invariances"}, {"spec_version": "1"}, {"spec_version": -1}, {"spec_version": 9}]
)
def test_invalid_stored_spec_is_refused(stored: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        parse(stored)


@pytest.mark.parametrize(
    ("written", "loc", "repair"),
    [
        ({"task": {"name": "invariances"}, "training": {"max_steps": 1}}, "training", "trains nothing; remove it"),
        ({"task": {"name": "invariances"}, "model": {"cell": "lstm"}}, "model", "takes no model; remove it"),
        ({"task": {"name": "fisher_geometry"}, "norm": {"method": "none"}}, "norm", "takes no norm; remove it"),
        ({"task": {"name": "invariances", "run": "run_0"}, "norm": {"method": "none"}}, "task.run", "field; remove it"),
        (
            {"task": {"name": "gradient_flow", "gains": [0.1, 0.1]}},
            "task.gains",
            "0.1 stands more than once; give every gain once",
        ),
        ({"task": {"name": "hidden_dynamics", "weight_scales": [2, 2]}}, "task.weight_scales", "give every scale once"),
        (
            {"task": {"name": "length_generalization", "run": RUN, "lengths": [9, 9]}},
            "task.lengths",
            "give every length once",
        ),
        ({"task": {"name": "invariances"}, "norm": {"method": "group_norm", "groups": 5000}}, "norm.groups", "4096"),
        ({"task": {"name": "invariances"}, "norm": {"method": "instance_norm"}}, "norm.method", "use group_norm"),
        ({"task": {"name": "step_cost"}, "norm": {"method": "batch_norm"}}, "norm.method", "no place in lstm"),
        ({"task": {"name": "gradient_flow"}, "model": {"bidirectional": True}}, "model.bidirectional", "use false"),
        ({"task": {"name": "gradient_flow", "gains": [0.0]}}, "task.gains.0", "greater than 0"),
        ({"task": {"name": "population_statistics"}}, "task.run", 'add it, as "task": {"run": "run_01'),
        ({"task": {"name": "population_statistics", "run": "run_1"}}, "task.run", "'run_' and 26 capital"),
        ({"task": {"name": "invariances"}, "kind": "training"}, "kind", "'analysis'"),
        ({"task": {"name": "permuted_digits"}, "kind": "analysis"}, "kind", "'training'"),
    ],
)
def test_an_error_names_its_field_and_the_repair(written: dict[str, Any], loc: str, repair: str) -> None:
    with pytest.raises(InvalidSpec) as refused:
        resolve(written)
    assert {".".join(map(str, error.loc)) for error in refused.value.errors} == {loc}
    assert repair in refused.value.errors[0].msg


def test_trained_model_that_does_not_fit_is_refused_with_what_fits() -> None:
    settling = PopulationStatistics(run=RUN)
    assert settling.misfit(PermutedDigits(), RecurrentBatchNorm()) is None
    assert "recurrent_batch_norm per_step" in (settling.misfit(PermutedDigits(), LayerNorm()) or "")
    assert "per_step" in (settling.misfit(PermutedDigits(), RecurrentBatchNorm(statistics="shared")) or "")
    assert "per_step" in (settling.misfit(PermutedDigits(), RecurrentBatchNorm(sites=())) or "")
    lengths = LengthGeneralization(run=RUN)
    assert lengths.misfit(CharLM(), LayerNorm()) is None
    assert lengths.misfit(PermutedDigits(), LayerNorm()) == "it was trained on permuted_digits; name a run of char_lm"
