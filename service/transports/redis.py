"""Messages in lists of Redis."""

from typing import Any

from kombu.transport import redis as kombu_redis
from redis import Redis

from service.transports.envelope import is_readable


class _Client(Redis):
    """A client to which a message that cannot be read is none. Redis has removed it by then."""

    def parse_response(self, connection: Any, command_name: Any, **options: Any) -> Any:
        answer = super().parse_response(connection, command_name, **options)  # type: ignore[no-untyped-call]
        if command_name == "BRPOP" and answer and not is_readable(answer[1]):
            return None  # as if nothing had come in time; kombu asks again
        return answer


class RedisChannel(kombu_redis.Channel):  # type: ignore[misc]
    """Kombu's transport through Redis, but what is no message is dropped; kombu raises, which ends a worker."""

    def _get_client(self) -> type[Redis]:
        super()._get_client()  # which checks the version
        return _Client


class RedisTransport(kombu_redis.Transport):  # type: ignore[misc]
    Channel = RedisChannel
