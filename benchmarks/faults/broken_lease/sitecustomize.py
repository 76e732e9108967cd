"""Breaks the lease on purpose, so that the harness can be seen to notice: writes of an attempt that was overtaken pass.

Python imports a module of this name by itself where ``PYTHONPATH`` has it. The condition on attempt and state, which
every write of a worker carries, is made true in the SQL that is sent; the product has no hook for this.
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
