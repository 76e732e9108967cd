"""The server of the API is told to end at once, and ends when open answers have."""

import signal

import pytest

from service.processes.serve import make_server
from service.settings import Settings


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_signal_is_passed_on_before_open_answers_are_waited_for(settings: Settings) -> None:
    """``normbench up`` marks its data directory then. A next one waits instead of being refused."""
    told: list[str] = []
    server = make_server(settings, require_keys=False, told=lambda: told.append("to end"))
    assert told == []
    server.handle_exit(signal.SIGTERM, None)
    assert (told, server.should_exit) == (["to end"], True)
