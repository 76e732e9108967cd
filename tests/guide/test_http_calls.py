"""Every call of the HTTP API that a sentence of a document names exists, with its method and its parameters. Every page
that is named by its address exists, too.
"""

import re
from pathlib import Path

import pytest

from tests.documents import DOCUMENTS, name_of
from tests.guide.http_calls import check_call

CALL = re.compile(r"`(?:([A-Z]+) )?(/[a-z][^`\s]*)`")
"""Call or page in a sentence: its method, if it is named, and its address."""
MISTAKES_IN_CALLS = {
    "`GET /v1/queues`": "no call GET /v1/queues",
    "`POST /v1/queue`": "no call POST /v1/queue",
    "`/v1/experiments/{id}/replays`": "no call /v1/experiments/{id}/replays",
    "`DELETE /v1/experiments/{id}`": "no call DELETE /v1/experiments/{id}",
    "`/ready`": "no call /ready",
    "`/board`": "no call /board",
    "`POST /readyz`": "no call POST /readyz",
    "`POST /submit`": "no call POST /submit",
    "`POST /v1/experiments?dryrun=true`": "no parameter dryrun of POST /v1/experiments",
}


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_every_call_in_a_sentence_exists(document: Path) -> None:
    for method, address in CALL.findall(document.read_text(encoding="utf-8")):
        check_call(method, address)


@pytest.mark.parametrize(("text", "told"), MISTAKES_IN_CALLS.items())
def test_mistake_in_a_call_is_reported(text: str, told: str) -> None:
    [call] = CALL.findall(text)
    with pytest.raises(AssertionError, match=re.escape(told)):
        check_call(*call)
