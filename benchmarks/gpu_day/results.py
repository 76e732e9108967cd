"""Results of a part: one JSON file, which is replaced as a whole after each measurement."""

import datetime
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

ONLY_TOLD = {"cpu", "driver"}  # may differ between machines with the same GPU


class OtherMachine(ValueError):
    """The results in a file were measured on another kind of GPU, or with other versions or another commit."""


@dataclass(frozen=True, slots=True)
class Case:
    """One measurement of a part.

    Attributes:
        measure: function that makes the measurement and returns plain values.
        stall: seconds after which the measurement counts as hanging.
        always: True for a preparation, which each process makes anew; its first result stays.
    """

    name: str
    measure: Callable[[], dict[str, Any]]
    stall: float = 200.0
    always: bool = False


class Results:
    """Results of a part in its file.

    Attributes:
        content: ``measured`` has what the measurements returned, by name, with their ``seconds``. ``broken`` has
            errors by name, and whether the measurement is tried again. ``begun`` is the name of the measurement that
            is being made, else None; ``stall`` says how long it may take. ``left_out`` has the names for which there
            was no time.
    """

    def __init__(self, file: Path, content: dict[str, Any]) -> None:
        self.file, self.content = file, content

    @classmethod
    def read(cls, folder: Path, part: str) -> Self:
        """Read the results of a part; results without measurements if there is no file."""
        file = folder / f"{part}.json"
        empty = {
            "part": part,
            "seconds": 0.0,
            "begun": None,
            "stall": 0.0,
            "measured": {},
            "broken": {},
            "left_out": [],
        }
        return cls(file, json.loads(file.read_text()) if file.exists() else empty)

    def write(self) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self.file.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(self.content, indent=1) + "\n")
        unfinished.replace(self.file)

    def measured_on(self, machine: dict[str, Any]) -> None:
        """Note the machine, with its versions and the commit.

        Raises:
            OtherMachine: the results that are there are of another GPU, other versions or another commit.
        """
        before = self.content.get("machine", machine)
        names = {*before, *machine} - ONLY_TOLD
        different = sorted(name for name in names if before.get(name) != machine.get(name))
        if different and self.content["measured"]:
            told = ", ".join(f"{name} {before.get(name)}, here {machine.get(name)}" for name in different)
            raise OtherMachine(f"{self.file} has results of another machine ({told}); name another folder with --to")
        self.content["machine"] = machine
        self.content["date"] = datetime.datetime.now(datetime.UTC).date().isoformat()

    def take(self, cases: Sequence[Case], seconds: float) -> None:
        """Make the measurements that are missing, those that broke before as the last, and write each one.

        Args:
            seconds: after this time no measurement is begun; the others are left out.

        Raises:
            Exception: a measurement failed and left the device unusable.
        """
        until = time.monotonic() + seconds
        missing = [case for case in cases if self._is_missing(case)]
        if all(case.always for case in missing):
            missing = []
        missing.sort(key=lambda case: case.name in self.content["broken"])
        for k, case in enumerate(missing):
            self.content["left_out"] = [later.name for later in missing[k:]]
            if time.monotonic() > until:
                print(f"no time was left for {len(missing) - k} of {len(cases)} measurements", flush=True)
                break
            self._take_one(case)
        else:
            self.content["left_out"] = []
        self.write()

    def _is_missing(self, case: Case) -> bool:
        if not self.content["broken"].get(case.name, {"again": True})["again"]:
            return False
        return case.always or case.name not in self.content["measured"]

    def _take_one(self, case: Case) -> None:
        self.content["begun"], self.content["stall"] = case.name, case.stall
        self.write()
        print(case.name, end=": ", flush=True)
        began = time.monotonic()
        try:
            found = case.measure()
        except Exception as error:
            notes = " ".join(getattr(error, "__notes__", []))  # such as the end of a server's log
            why = " ".join(f"{type(error).__name__}: {str(error)[:500]} {notes[-1000:]}".split())
            self.end_broken(why)
            if "CUDA" in why:  # every later call in this process may fail, too
                raise
            return
        seconds = time.monotonic() - began
        print(f"{seconds:.1f} s", flush=True)
        self.content["measured"].setdefault(case.name, {**found, "seconds": seconds})
        self.content["broken"].pop(case.name, None)
        self.content["seconds"] += seconds
        self.content["begun"] = None
        self.write()

    def end_broken(self, why: str) -> None:
        """Note that the measurement that had begun broke."""
        name = self.content["begun"]
        if name is not None:
            self.content["broken"][name] = {"why": why, "again": False}
            self.content["begun"] = None
            self.write()
            print(f"broke: {why}", flush=True)

    def forgive(self) -> None:
        """Let the measurements that broke be tried again, after all others."""
        for broken in self.content["broken"].values():
            broken["again"] = True
        self.content["begun"] = None
        if self.content["broken"]:
            self.write()
