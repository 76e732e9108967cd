"""Alembic's door: run the migrations on the connection that ``service.processes.migrate`` holds."""

from alembic import context

from service.db import Base
from service.experiments import tables as experiments  # noqa: F401
from service.fleet import tables as fleet  # noqa: F401
from service.keys import tables as keys  # noqa: F401
from service.leaderboards import tables as leaderboards  # noqa: F401

context.configure(
    connection=context.config.attributes["connection"], target_metadata=Base.metadata, render_as_batch=True
)
with context.begin_transaction():
    context.run_migrations()
