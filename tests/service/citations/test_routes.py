"""Works to cite for a task, a method, a data set and an experiment."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from normcore.bibliography import software
from normcore.spec import TASKS
from normcore.spec.analyses.analysis import TrainedAnalysis
from normcore.spec.methods import METHODS
from normcore.spec.methods.rms_norm import RMSNorm
from service.db import Database
from tests.service.sample_runs import begun, claimed, finished, submitted

SOFTWARE = "normbench: a distributed benchmark service for normalization in recurrent networks"


def cited(client: TestClient, name: str) -> dict[str, Any]:
    answer = client.get(f"/v1/citations/{name}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def titles(citation: dict[str, Any]) -> list[str]:
    return [work["title"] for work in citation["works"]]


def test_a_task_cites_its_papers_its_data_and_this_software(shared_client: TestClient) -> None:
    found = cited(shared_client, "permuted_mnist")
    assert found["kind"] == "task"
    assert titles(found) == ["Recurrent Batch Normalization", "The MNIST Database of Handwritten Digits", SOFTWARE]
    assert found["works"][-1]["note"] == software().note
    assert found["notes"] == []
    assert found["bibtex"].count("\n@") + 1 == 3


def test_a_method_cites_its_paper(shared_client: TestClient) -> None:
    found = cited(shared_client, "layer_norm")
    assert (found["kind"], titles(found)) == ("method", ["Layer Normalization", SOFTWARE])


def test_a_data_set_is_cited_by_its_name(shared_client: TestClient) -> None:
    found = cited(shared_client, "ptb")
    assert found["kind"] == "data set"
    assert titles(found)[0] == "Building a Large Annotated Corpus of English: The Penn Treebank"
    assert len(found["works"]) == 4


@pytest.mark.parametrize("name", [*TASKS, *METHODS])
def test_everything_of_ours_has_something_to_cite(shared_client: TestClient, name: str) -> None:
    found = cited(shared_client, name)
    assert titles(found)[-1] == SOFTWARE
    assert found["notes"] == []
    if name in TASKS and not issubclass(TASKS[name], TrainedAnalysis):
        assert len(set(titles(found))) == len(found["works"])


def test_an_experiment_cites_task_method_data_and_the_version_that_trained_it(client: TestClient, db: Database) -> None:
    experiment = submitted(db, "layer_norm", seeds=[0])
    code = {"version": "0.1.0", "commit": "0123456789abcdef", "dirty": False, "parts": {}}
    lease = claimed(db).lease
    begun(db, lease, code=code)
    finished(db, lease)
    found = cited(client, experiment.id)
    assert found["kind"] == "experiment"
    expected = ["Recurrent Batch Normalization", "Optical Recognition of Handwritten Digits", "Layer Normalization"]
    assert titles(found) == [*expected, SOFTWARE]
    assert found["works"][-1]["note"] == "Version 0.1.0, commit 0123456789ab"


def test_what_names_no_work_gets_a_note(shared_client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RMSNorm, "citation", "Nobody 2031, in <a talk>")
    found = cited(shared_client, "rms_norm")
    note = "the method rms_norm names no work that is known here; its citation: Nobody 2031, in <a talk>"
    assert (found["notes"], titles(found)) == ([note], [SOFTWARE])
    assert found["bibtex"].startswith(f"% {note}\n")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("layer_nrom", "no task, method, data set or experiment 'layer_nrom'; did you mean 'layer_norm'?"),
        ("no_such_thing", "'no_such_thing'"),
        ("exp_01KAJ4C5S2M8V0T3H6R1Y9W7Q9", "exp_01KAJ4C5S2M8V0T3H6R1Y9W7Q9"),
    ],
)
def test_an_unknown_name_is_refused_with_what_was_meant(shared_client: TestClient, name: str, said: str) -> None:
    answer = shared_client.get(f"/v1/citations/{name}")
    assert answer.status_code == 404
    assert said in answer.json()["detail"]
