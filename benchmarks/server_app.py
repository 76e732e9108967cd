"""Our application for other people's servers: ``benchmarks.server_app:application``."""

from fastapi import FastAPI

from service.app import create_app
from service.processes.startup import prepare
from service.settings import Settings, read_settings


def application() -> FastAPI:
    """Application of ``normbench api`` on the loopback address, settings and all."""
    settings = read_settings(Settings)
    prepare(settings).close()
    return create_app(settings, require_keys=False)
