"""Which code computes is told without torch."""

import subprocess
import sys
from importlib.metadata import version

from normcore.code_version import SOURCE, code_version, output_of


def test_it_is_the_packages_version_and_the_commit() -> None:
    found = code_version()
    assert found.keys() == {"normbench", "git"}
    assert found["normbench"] == version("normbench")
    if (SOURCE / ".git").exists():
        head = subprocess.run(["git", "-C", SOURCE, "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
        assert (found["git"] or "").removesuffix("-dirty") == head.stdout.strip()


def test_a_command_that_fails_tells_nothing() -> None:
    assert output_of(sys.executable, "-c", "print(' a ')") == "a"
    assert output_of(sys.executable, "-c", "exit(1)") is None
    assert output_of("no-such-program") is None
