"""Our application, to be run by other HTTP servers: ``benchmarks.server_app:application``."""

from fastapi import FastAPI

from service.app import create_app
from service.processes.startup import prepare
from service.settings import Settings, read_settings


def application() -> FastAPI:
    """Make the application that ``normbench api`` serves on 127.0.0.1, with its settings."""
    settings = read_settings(Settings)
    prepare(settings).close()
    return create_app(settings, require_keys=False)
