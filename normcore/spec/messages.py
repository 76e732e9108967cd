"""What is wrong with a value and how to mend it, in words: of a spec's fields, and of any request's parameters."""

import difflib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

LONGEST_NAME = 100  # characters of a name that somebody may have misspelt
TOO_LONG = 10**308
PIECES = json.JSONEncoder(default=str)
A_MOMENT = "2026-11-25T12:00:00Z"
QUOTED = re.compile(r"'([^']*)'")
PLAIN = {
    "missing": "it is required; add it",
    "list_type": "expected a list",
    "tuple_type": "expected a list",
    "dict_type": "expected an object of names and values",
    "model_type": "expected an object of fields",
    "model_attributes_type": "expected an object of fields",
    "bool_type": "expected true or false",
    "bool_parsing": "expected true or false",
    "timezone_aware": f"say in which time zone it is, as {A_MOMENT}",
    "datetime_parsing": f"expected a moment with its time zone, as {A_MOMENT}",
    "datetime_from_date_parsing": f"expected a moment with its time zone, as {A_MOMENT}",
    "extra_forbidden": "unknown field; remove it",
    "string_unicode": "expected text; it has characters that are none",
}
"""By pydantic's code, in place of a message that speaks of Python or says no repair."""


@dataclass(frozen=True, slots=True)
class Form:
    """Annotates a text with its form: ``pattern`` for programs, ``repair`` for people."""

    pattern: str
    repair: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        text = core_schema.str_schema(pattern=self.pattern)
        return core_schema.custom_error_schema(text, "form", custom_error_message=self.repair)


def message(error: Any) -> str:
    """The message of one of pydantic's errors, with a repair."""
    if error["type"] == "literal_error":
        choices = QUOTED.findall(error["ctx"]["expected"])
        meant = suggestion(error["input"], choices).strip()
        return f"{error['msg']}; {meant}" if meant else str(error["msg"])
    if error["type"] == "too_short":
        return f"give {error['ctx']['min_length']:,} or more"
    if error["type"] == "too_long":
        return f"give {error['ctx']['max_length']:,} or fewer"
    if error["type"] in ("value_error", "assertion_error"):
        return str(error["ctx"]["error"])  # as a package's own validator has it
    return PLAIN.get(error["type"], str(error["msg"]))


def choose(given: Any, known: Iterable[str]) -> str:
    """Which of the known names were meant, or which there are."""
    known = sorted(known)
    return f"{suggestion(given, known)}choose from {', '.join(known)}"


def suggestion(given: Any, known: Iterable[str]) -> str:
    """The known name that is close to the given one, as a question; empty if none is."""
    if not isinstance(given, str) or len(given) > LONGEST_NAME:  # what is longer is close to no name
        return ""
    close = difflib.get_close_matches(given, list(known), n=1)
    return f"did you mean '{close[0]}'? " if close else ""


def quoted(given: Any) -> str:
    """The value, short enough to be repeated, and sendable whatever it is: half of a surrogate pair is no text."""
    if not isinstance(given, str):
        return brief(given, 60)
    return f"'{given[:60].encode(errors='replace').decode()}'"


def brief(value: Any, most: int) -> str:
    """The beginning of a value in JSON, in time that its length does not change."""
    if isinstance(value, str):
        return json.dumps(value[:most])[:most]
    if isinstance(value, int) and abs(value) >= TOO_LONG:  # Python writes no longer numbers
        return "a very long number"
    pieces, length = [], 0
    for piece in PIECES.iterencode(value):
        pieces.append(piece[:most])
        length += len(piece)
        if length >= most:
            break
    return "".join(pieces)[:most]
