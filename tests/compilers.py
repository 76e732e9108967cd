"""Commands that stand in for the compiler."""

import shutil
import stat
from pathlib import Path

GXX = shutil.which("g++")


def command(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return folder


def quick_compiler(folder: Path) -> Path:
    """Write a compiler that does not optimize, and compiles only once for the same arguments, wherever sources and
    target are. Test processes may share the folder. Its code is slow, which does not matter to its tests."""
    text = f"""case "$1" in -dump*) exec {GXX} "$@";; esac
for target; do :; done
made="{folder}/$(printf '%s\\n' "$@" | sed '$d; s|.*/||' | cksum | tr -d ' ')"
if [ ! -e "$made" ]; then
    {GXX} "$@" -O0 && cp "$target" "$made.$$" && exec mv "$made.$$" "$made"
    exit 1
fi
exec cp "$made" "$target\""""
    return command(folder, "g++", text) / "g++"
