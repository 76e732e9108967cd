"""Messages in lists of Redis."""

from typing import Any

from kombu.transport import redis as kombu_redis
from redis import Redis

from service.transports.envelope import is_readable


class _Client(Redis):
    """Redis client that treats an unreadable message as no message. Redis has already removed such a message."""

    def parse_response(self, connection: Any, command_name: Any, **options: Any) -> Any:
        answer = super().parse_response(connection, command_name, **options)  # type: ignore[no-untyped-call]
        if command_name == "BRPOP" and answer and not is_readable(answer[1]):
            return None  # as if nothing had come in time; kombu asks again
        return answer


class RedisChannel(kombu_redis.Channel):  # type: ignore[misc]
    """Kombu's transport through Redis, which drops unreadable messages. Kombu itself would raise an error that ends a
    worker.
    """

    def _get_client(self) -> type[Redis]:
        super()._get_client()  # checks the version
        return _Client


class RedisTransport(kombu_redis.Transport):  # type: ignore[misc]
    Channel = RedisChannel
