"""A Python process that imports slow modules once, and forks a process for each command."""

import json
import select
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

SECONDS = 280.0
SERVE = """
import gc, json, os, runpy, sys, tempfile, traceback
from importlib import import_module

usual = gc.get_threshold()
gc.set_threshold(0)
for name in sys.argv[1:]:
    import_module(name)
gc.freeze()
gc.set_threshold(*usual)


def execute(first, *arguments):
    if first == "-m":
        sys.argv = list(arguments)
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = [first, *arguments[1:]]
        exec(compile(arguments[0], "<string>", "exec"), {"__name__": "__main__"})


for line in sys.stdin:
    folder, command, variables = json.loads(line)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            for target, file in enumerate((os.open(os.devnull, os.O_RDONLY), out.fileno(), err.fileno())):
                os.dup2(file, target)
            os.chdir(folder)
            os.environ.update(variables)
            status = 1
            try:
                execute(*command)
                status = 0
            except SystemExit as end:
                status = end.code if isinstance(end.code, int) else int(end.code is not None)
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode())
    print(json.dumps([status, *texts]), flush=True)
"""


class WarmPython:
    """Runs commands as ``python`` does, each in a process that already has slow modules."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def run(self, folder: Path, *command: str) -> str:
        """Execute ``-c CODE ARGUMENTS`` or ``-m MODULE ARGUMENTS`` in ``folder``; return the output."""
        out, err, status = self.told(folder, command, {})
        assert status == 0, out + err
        return out

    def told(self, folder: Path, command: Sequence[str], variables: Mapping[str, str]) -> tuple[str, str, int]:
        """Execute a command with more environment variables; return its output, its errors and its status."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([str(folder), command, dict(variables)]) + "\n")
        self._process.stdin.flush()
        assert select.select([self._process.stdout], [], [], SECONDS)[0], f"{command} takes more than {SECONDS:g} s"
        status, out, err = json.loads(self._process.stdout.readline())
        return out, err, status


@contextmanager
def warm_python(modules: Sequence[str], environment: Mapping[str, str], folder: Path) -> Iterator[WarmPython]:
    """Start a process in ``folder`` that imports ``modules``; end it at the end."""
    process = subprocess.Popen(
        [sys.executable, "-c", SERVE, *modules],
        env=dict(environment),
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:  # closes the standard input, which ends the process
        yield WarmPython(process)
