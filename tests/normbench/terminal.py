"""Commands as a person sees them: on a terminal of a given width."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from collections.abc import Mapping, Sequence

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
LINES = 200


def on_a_terminal(command: Sequence[str], columns: int, environment: Mapping[str, str]) -> str:
    """Text that the command shows on a terminal ``columns`` wide, without escape sequences.

    Standard error is included.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, columns, 0, 0))
    own = ("COLUMNS", "LINES", "NO_COLOR")
    inherited = {k: v for k, v in os.environ.items() if k not in own and not k.startswith("NORMBENCH_")}
    process = subprocess.Popen(
        command,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**inherited, "TERM": "xterm-256color", **environment},
        start_new_session=True,
    )
    os.close(theirs)
    shown = bytearray()
    try:
        while piece := os.read(ours, 65536):
            shown += piece
    except OSError:  # the other side was closed
        pass
    finally:
        os.close(ours)
        process.wait()
    return ESCAPES.sub("", shown.decode()).replace("\r\n", "\n")
