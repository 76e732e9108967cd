"""Break the lease on purpose: let an overtaken attempt write, so that the benchmark of faults must notice it.

Python imports a module of this name by itself if ``PYTHONPATH`` has its folder. Every write of a worker has a condition
on attempt and state. This module makes the condition true in the SQL that is sent, as the service has no hook for it.
"""

import re
from typing import Any

from sqlalchemy import Engine, event

VALUE = r"(?:\?|%\(\w+\)s(?:::[A-Z]+)?)"
ATTEMPT = re.compile(rf"runs\.attempt = {VALUE}")
HELD = re.compile(rf"runs\.(?:attempt|state) = {VALUE}")


@event.listens_for(Engine, "before_cursor_execute", retval=True)
def _ignore_the_lease(
    connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, executemany: bool
) -> tuple[str, Any]:
    if ATTEMPT.search(statement):
        statement = HELD.sub(lambda held: f"({held[0]} OR 1 = 1)", statement)
    return statement, parameters
