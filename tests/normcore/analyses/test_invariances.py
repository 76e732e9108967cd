"""Table 1 of Ba, Kiros, Hinton 2016, measured."""

import pytest

from normcore.analyses.invariances import (
    CHANGES,
    INVARIANT,
    TABLE_1,
    Invariance,
    RescalingWithEps,
    finding_of,
    finding_with_eps,
    invariances,
    rescaling_with_eps,
)
from normcore.spec.methods import METHODS
from normcore.spec.methods.batch_norm import BatchNorm
from normcore.spec.methods.instance_norm import InstanceNorm
from normcore.spec.methods.layer_norm import LayerNorm
from normcore.spec.methods.method import Method
from normcore.spec.methods.recurrent_batch_norm import RecurrentBatchNorm
from normcore.spec.methods.weight_norm import WeightNorm
from normcore.spec.models.feed_forward import FeedForward

COLUMNS = list(CHANGES)
ROWS = {  # weight matrix re-scaling, its re-centering, weight vector re-scaling, dataset re-scaling, its re-centering,
    "batch_norm": "yes no yes yes yes no",  # single training case re-scaling
    "weight_norm": "yes no yes no no no",
    "layer_norm": "yes yes no yes no yes",
    "recurrent_batch_norm": "yes no yes yes yes no",
    "sequence_batch_norm": "yes no yes yes yes no",
    "rms_norm": "yes no no yes no yes",
    "group_norm": "yes yes no yes no yes",
    "dynamic_tanh": "no no no no no no",
    "none": "no no no no no no",
    "batch_renorm": "no no no no no no",  # within its clips it uses running averages, which do not change with the data
}


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(("method", "row"), ROWS.items())
def test_rows_of_table_1_are_as_expected_for_every_method(method: str, row: str, seed: int) -> None:
    options = {"groups": 2} if method == "group_norm" else {}
    usual = METHODS[method].defaults(FeedForward)
    measured = invariances(METHODS[method].model_validate({"method": method, **usual, **options}), seed)
    assert [column.change for column in measured] == COLUMNS
    assert ["yes" if column.invariant else "no" for column in measured] == row.split()
    assert all(column.deviation < 1e-12 or column.deviation > 0.1 for column in measured)


def test_mean_only_batch_norm_is_invariant_to_shifts_of_the_data() -> None:
    measured = invariances(WeightNorm(mean_only_batch_norm=True))
    assert ["yes" if column.invariant else "no" for column in measured] == ["yes", "no", "yes", "no", "yes", "no"]


@pytest.mark.parametrize("method", [LayerNorm(sites=()), RecurrentBatchNorm(sites=()), BatchNorm(sites=())])
def test_method_without_sites_has_no_invariance(method: Method) -> None:
    assert not any(column.invariant for column in invariances(method))


def test_method_for_images_only_is_refused_with_the_reason() -> None:
    with pytest.raises(ValueError, match="received a layer of 8 units"):
        invariances(InstanceNorm())


@pytest.mark.parametrize("eps", [1e-5, 1e-2, 1.0])
def test_ratio_with_eps_equals_the_equation(eps: float) -> None:
    measured = rescaling_with_eps(LayerNorm(eps=eps, sites=("layer",)))
    assert measured.deviation < 1e-12
    assert measured.ratio > 1


PRINTED = {  # Table 1, row by row, in the order of its columns
    "batch_norm": "Invariant No Invariant Invariant Invariant No",
    "weight_norm": "Invariant No Invariant No No No",
    "layer_norm": "Invariant Invariant No Invariant No Invariant",
}


def test_table_1_is_as_printed() -> None:
    rows = {
        method: " ".join("Invariant" if row[change] else "No" for change in COLUMNS) for method, row in TABLE_1.items()
    }
    assert rows == PRINTED


@pytest.mark.parametrize(
    "method", [BatchNorm(), WeightNorm(), LayerNorm(sites=("layer",))], ids=lambda method: method.method
)
@pytest.mark.parametrize("column", range(6))
def test_finding_holds_only_if_it_agrees_with_the_printed_column(method: Method, column: int) -> None:
    change, printed = COLUMNS[column], PRINTED[method.method].split()[column] == "Invariant"
    agrees, contradicts = (finding_of(Invariance(change, 0.0, found), method) for found in (printed, not printed))
    words = {True: "invariant", False: "not invariant"}
    assert (agrees.verdict, agrees.claim, agrees.holds) == (words[printed], words[printed], True)
    assert (contradicts.verdict, contradicts.claim, contradicts.holds) == (words[not printed], words[printed], False)
    assert agrees.source == contradicts.source == "LN Table 1"


@pytest.mark.parametrize(("deviation", "holds"), [(INVARIANT, True), (2 * INVARIANT, False), (0.1, False)])
def test_finding_with_eps_holds_only_up_to_rounding(deviation: float, holds: bool) -> None:
    finding = finding_with_eps(RescalingWithEps(1e-5, 3.0, 1.0, deviation))
    assert finding.holds is holds
    assert finding.source is not None
    assert finding.source.startswith("normbench")
