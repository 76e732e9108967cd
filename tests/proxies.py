"""A TCP proxy that can swallow what it carries, like a server that hangs: the kernel still acknowledges all packets, so
that only a deadline of the client notices. ``benchmarks.faults.blackhole`` is the other kind of silence, a cut cable.
"""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Proxy:
    """Carries connections to ``target`` on this machine.

    While it swallows, connections stay open and new ones are accepted, and not a byte goes through. Those that it had
    then stay silent for ever, also when new ones are carried again.
    """

    def __init__(self, target: int) -> None:
        self._target = target
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = int(self._listening.getsockname()[1])
        self._open: list[socket.socket] = []
        self._age = 0  # connections of another age are silent
        self._swallows = False
        threading.Thread(target=self._accept, daemon=True).start()

    def swallow(self) -> None:
        self._age += 1
        self._swallows = True

    def carry_new(self) -> None:
        """Carry connections that are made from now on."""
        self._age += 1
        self._swallows = False

    def close(self) -> None:
        for connection in [self._listening, *self._open]:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                self._open.append(near)
                if self._swallows:
                    continue
                far = socket.create_connection(("127.0.0.1", self._target))
                self._open.append(far)
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(target=self._carry, args=(source, sink, self._age), daemon=True).start()

    def _carry(self, source: socket.socket, sink: socket.socket, age: int) -> None:
        with suppress(OSError):
            while (data := source.recv(65536)) and age == self._age:
                sink.sendall(data)
            if age == self._age:
                sink.shutdown(socket.SHUT_WR)


@contextmanager
def proxy_to(target: int) -> Iterator[Proxy]:
    proxy = Proxy(target)
    try:
        yield proxy
    finally:
        proxy.close()
