"""Python imports this module as a process begins, because the folder is on the ``PYTHONPATH`` of tests. In fork
servers it has ``brief_probe`` imported after all others.
"""

import sys

if "multiprocessing.forkserver" in sys.orig_argv[-1]:
    from collections.abc import Sequence
    from multiprocessing import forkserver
    from typing import Any

    serve = forkserver.main

    def main(listener_fd: Any, alive_r: Any, preload: Sequence[str], *rest: Any, **options: Any) -> None:
        serve(listener_fd, alive_r, [*preload, "brief_probe"], *rest, **options)

    forkserver.main = main
