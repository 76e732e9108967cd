"""Messages that a worker takes from its broker. A message that is not a notification of ours is dropped, and the worker
goes on.
"""

import re
from collections.abc import Callable
from typing import Annotated, Any, Literal

from celery.worker.consumer import Consumer
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from service.queue import RUN_EXPERIMENT
from service.transports.envelope import drop, first_fault


class _Headers(BaseModel):
    """Headers that Celery reads before the body. ``eta`` and ``expires`` must be empty: with a time in them, Celery
    would keep the message until then.
    """

    model_config = ConfigDict(strict=True)

    task: str = Field(pattern=f"^{re.escape(RUN_EXPERIMENT)}$")
    id: str
    eta: None = None
    expires: None = None


class _Message(BaseModel):
    headers: _Headers
    content_type: Literal["application/json"]


_NoOptions = Annotated[dict[str, Any], Field(max_length=0)]
_NoLinks = dict[str, None]  # no links to other tasks
_BODY: TypeAdapter[Any] = TypeAdapter(tuple[tuple[str], _NoOptions, _NoLinks])


class NotificationConsumer(Consumer):  # type: ignore[misc]
    """Celery's consumer, which accepts only notifications and drops other messages. Celery itself would end the worker,
    or log pages of text.
    """

    def create_task_handler(self, *args: Any, **options: Any) -> Callable[[Any], None]:
        execute = super().create_task_handler(*args, **options)

        def handle(message: Any) -> None:
            fault = fault_in(message)
            if fault is not None:
                self._drop(message, fault)
                return
            try:
                execute(message)
            except (*self.connection_errors, *self.channel_errors):
                raise
            except Exception as error:  # raised by Celery for a header that it cannot use
                self._drop(message, f"{type(error).__name__}: {error}")

        return handle

    def on_decode_error(self, message: Any, exc: Exception) -> None:
        self._drop(message, f"{type(exc).__name__}: {exc}")

    def _drop(self, message: Any, fault: str) -> None:
        """Acknowledge a wrong message, so that it does not come again."""
        drop(fault)
        if not message.acknowledged:
            message.ack()


def fault_in(message: Any) -> str | None:
    """Reason why a message is not a notification; None if it is a notification.

    Args:
        message: message of kombu, from any transport.
    """
    try:
        _Message.model_validate({"headers": message.headers, "content_type": message.content_type})
        _BODY.validate_json(message.body or b"")
    except ValidationError as error:
        return first_fault(error)
    return None
