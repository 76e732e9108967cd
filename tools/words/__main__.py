"""Check of the language: ``python -m tools.words`` prints each fault as ``file:line: what to mend``.

It checks the rules of docs/develop/words.md that a machine can check: the first word of a docstring, or of a comment
above a declaration in C++; the length of sentences; the names of modules and classes; the subjects of commits. Only
documents in ``GENERATED`` are exempt.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tools.words.modules import faults_of_module
from tools.words.rules import Fault, fault_of_subject
from tools.words.texts import (
    faults_of_comments,
    faults_of_cpp,
    faults_of_document,
    faults_of_hash_comments,
    faults_of_template,
)

ROOT = Path(__file__).parent.parent.parent
GENERATED = ("docs/results/reproductions.md",)  # a program joins its sentences from quotations and lists of numbers
COMMITS = 20  # newest commits whose subjects are read
HASH_COMMENTS = ("*.yaml", "*.yml", "*.toml", "*Makefile", "*Dockerfile", ".ci/run", ".gitignore", ".dockerignore")
CHECKS = {
    "*.py": faults_of_module,
    "*.md": faults_of_document,
    "*.html": faults_of_template,
    **dict.fromkeys(("*.cpp", "*.hpp"), faults_of_cpp),
    **dict.fromkeys(("*.css", "*.js"), faults_of_comments),
    **dict.fromkeys(HASH_COMMENTS, faults_of_hash_comments),
}
"""Check by the pattern of the files that it reads."""


def main() -> int:
    """Print all faults; return 1 if there are any."""
    found = list(faults())
    for fault in found:
        print(f"{fault.file}:{fault.line}: {fault.advice}")
    return 1 if found else 0


def faults() -> Iterator[Fault]:
    """Find the faults of all files that git knows and ``CHECKS`` has a check for, and of the newest commits."""
    yield from faults_of_files()
    for subject in _git("log", f"-{COMMITS}", "--no-merges", "--format=%s").splitlines():
        if advice := fault_of_subject(subject):
            yield Fault("git log", 1, f"{advice}: {subject}")


def faults_of_files() -> Iterator[Fault]:
    """Find the faults of all files that git knows and ``CHECKS`` has a check for."""
    for pattern, check in CHECKS.items():
        for name in _git("ls-files", "-z", pattern).split("\0"):
            if name and name not in GENERATED and (ROOT / name).exists():
                yield from check(name, (ROOT / name).read_text(encoding="utf-8"))


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    sys.exit(main())
