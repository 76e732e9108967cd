"""Reference pages, as Markdown by page name. They are generated from the code, so they are never out of date."""

from collections.abc import Callable, Mapping

from guide.reference import catalogue, client, command_line, http, settings, spec

PAGES: Mapping[str, Callable[[], str]] = {
    "spec": spec.page,
    "methods": catalogue.methods,
    "cells": catalogue.cells,
    "tasks": catalogue.tasks,
    "metrics": catalogue.metrics,
    "command-line": command_line.page,
    "http": http.page,
    "client": client.page,
    "settings": settings.page,
}
