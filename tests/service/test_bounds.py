"""Lists, texts and mappings of sweeps and of submitted results have a bound, as those of specs have."""

from service.leaderboards.submitted_results.schemas import Evidence
from service.sweeps.spec import WrittenSweep
from tests.normcore.spec.test_bounds import unbounded


def test_every_list_text_and_mapping_of_a_sweep_has_a_bound() -> None:
    """The number of cells bounds the values of the grid; ``test_spec`` has a grid with too many."""
    assert list(unbounded(WrittenSweep.model_json_schema())) == ["/properties/grid/additionalProperties"]


def test_every_list_text_and_mapping_of_a_submitted_result_has_a_bound() -> None:
    assert list(unbounded(Evidence.model_json_schema())) == []
