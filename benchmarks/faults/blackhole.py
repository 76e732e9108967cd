"""TCP relay that can become a black hole: connections stay open, but the kernel drops all packets that arrive.

If the relay only stopped reading (as ``tests.proxies`` does), the kernel would still acknowledge every packet, and no
keepalive or time-out of TCP would notice. With a packet filter on the relay's sockets (Linux), packets get no answer,
as if the cable were cut.
"""

import ctypes
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from service.db import KEEPALIVE

SO_ATTACH_FILTER, SO_DETACH_FILTER = 26, 27  # socket options of SOL_SOCKET on Linux
DROP_EVERYTHING = struct.pack("HBBI", 0x06, 0, 0, 0)  # BPF program of one instruction: return 0, which drops the packet
PIECE = 1 << 16


class Relay:
    """Relay that forwards connections at its own ``port`` of 127.0.0.1 to the port ``target``, in both directions.

    Its sockets look for clients that are gone as the server's sockets do, which ``service.db`` asks for.
    """

    def __init__(self, target: int) -> None:
        self._target = target
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._lock = threading.Lock()
        self._clients: set[socket.socket] = set()
        self._open = threading.Event()
        self._open.set()
        threading.Thread(target=self._accept, name="relay", daemon=True).start()

    def swallow(self) -> None:
        """Drop all packets from now on, also those that would open a connection."""
        with self._lock:
            self._open.clear()
            for client in (self._listening, *self._clients):
                _drop_packets(client)

    def restore(self) -> None:
        """Deliver packets again from now on. TCP repeats the packets that were dropped."""
        with self._lock:
            for client in (self._listening, *self._clients):
                client.setsockopt(socket.SOL_SOCKET, SO_DETACH_FILTER, 0)
            self._open.set()

    def close(self) -> None:
        """Cut every connection, and stop listening."""
        self._listening.close()
        with self._lock:
            for client in self._clients:
                _shut(client)
            self._open.set()

    def _accept(self) -> None:
        with suppress(OSError):  # the relay was closed
            while True:
                client = self._listening.accept()[0]
                try:
                    server = socket.create_connection(("127.0.0.1", self._target))
                except OSError:
                    client.close()
                    continue
                _look_for_the_peer(client)
                with self._lock:
                    self._clients.add(client)
                    if not self._open.is_set():
                        _drop_packets(client)
                for source, sink in ((client, server), (server, client)):
                    threading.Thread(target=self._hand_on, args=(source, sink, client), daemon=True).start()

    def _hand_on(self, source: socket.socket, sink: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while piece := source.recv(PIECE):
                self._open.wait()
                sink.sendall(piece)
        _shut(sink)
        if source is client:
            with self._lock:
                self._clients.discard(client)


@contextmanager
def relay(target: int) -> Iterator[Relay]:
    """Run a relay while the block runs."""
    between = Relay(target)
    try:
        yield between
    finally:
        between.close()


def _drop_packets(connection: socket.socket) -> None:
    program = ctypes.create_string_buffer(DROP_EVERYTHING)
    with suppress(OSError):  # the socket was closed meanwhile
        connection.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HL", 1, ctypes.addressof(program)))


def _look_for_the_peer(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, KEEPALIVE["idle"])
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, KEEPALIVE["interval"])
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, KEEPALIVE["count"])


def _shut(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
