"""Alive, ready, and measured."""

from starlette.testclient import TestClient


def test_the_service_is_alive_and_ready_on_its_default_broker(client: TestClient) -> None:
    assert client.get("/healthz").json() == {"status": "alive"}
    assert client.get("/readyz").json() == {"status": "ready"}
