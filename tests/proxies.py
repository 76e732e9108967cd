"""TCP proxy that can swallow all data, like a server that hangs.

The kernel still acknowledges all packets, so only a timeout of the client notices. ``benchmarks.faults.blackhole`` is
like a cut cable instead: packets are not acknowledged.
"""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Proxy:
    """Proxy of connections to the port ``target`` on this machine.

    While the proxy swallows, connections stay open and new connections are accepted, but no byte passes. These
    connections stay silent for ever, even after the proxy carries new connections again.
    """

    def __init__(self, target: int) -> None:
        self._target = target
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = int(self._listening.getsockname()[1])
        self._open: list[socket.socket] = []
        self._age = 0  # connections of an earlier age are silent
        self._swallows = False
        self.n_swallowed = 0  # pieces of data that came since the last call of swallow and went nowhere
        threading.Thread(target=self._accept, daemon=True).start()

    def swallow(self) -> None:
        self._age += 1
        self.n_swallowed = 0
        self._swallows = True

    def carry_new(self) -> None:
        """Carry all connections that are made after this call."""
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
            while data := source.recv(65536):
                if age != self._age:
                    self.n_swallowed += 1
                    return
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
