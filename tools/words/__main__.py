"""Check of the language: ``python -m tools.words`` prints each fault as ``file:line: what to mend``.

It checks the rules of docs/develop/words.md that a machine can check: the first word of a docstring, the length of
sentences, the names of modules and classes, and the subjects of commits. Only documents in ``GENERATED`` are exempt.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tools.words.modules import faults_of_module
from tools.words.rules import Fault, fault_of_subject
from tools.words.texts import faults_of_comments, faults_of_document, faults_of_template

ROOT = Path(__file__).parent.parent.parent
GENERATED = ("docs/results/reproductions.md",)  # a program joins its sentences from quotations and lists of numbers
COMMITS = 20  # newest commits whose subjects are read
CHECKS = {
    ".py": faults_of_module,
    ".md": faults_of_document,
    ".html": faults_of_template,
    **dict.fromkeys((".cpp", ".css", ".js"), faults_of_comments),
}


def main() -> int:
    """Print all faults; return 1 if there are any."""
    found = list(faults())
    for fault in found:
        print(f"{fault.file}:{fault.line}: {fault.advice}")
    return 1 if found else 0


def faults() -> Iterator[Fault]:
    """Find the faults of all files that git knows and ``CHECKS`` has a check for, and of the newest commits."""
    for name in _git("ls-files", "-z", *(f"*{suffix}" for suffix in CHECKS)).split("\0"):
        if name and name not in GENERATED and (ROOT / name).exists():
            yield from CHECKS[Path(name).suffix](name, (ROOT / name).read_text(encoding="utf-8"))
    for subject in _git("log", f"-{COMMITS}", "--no-merges", "--format=%s").splitlines():
        if advice := fault_of_subject(subject):
            yield Fault("git log", 1, f"{advice}: {subject}")


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    sys.exit(main())
