"""Messages on invalid values, with what to write instead: for fields of a spec, and for parameters of a request."""

import difflib
import json
import math
import re
from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from normcore.spec.blanks import BLANK, show_blanks

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
    "bool_type": "expected true or false, without quotes",
    "bool_parsing": "expected true or false",
    "timezone_aware": f"say in which time zone it is, as {A_MOMENT}",
    "datetime_parsing": f"expected a moment with its time zone, as {A_MOMENT}",
    "datetime_from_date_parsing": f"expected a moment with its time zone, as {A_MOMENT}",
    "extra_forbidden": "unknown field; remove it",
    "string_unicode": "expected text; it has invalid characters",
    "invalid_key": "a field's name must be text; is there a comma inside a number, as in 1,000?",
}
"""Messages by pydantic's code of the error. They replace messages that speak of Python or do not say what to write."""
BOUNDS = {
    "greater_than": ("gt", "greater than"),
    "greater_than_equal": ("ge", "greater than or equal to"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "less than or equal to"),
}
"""Bounds of a number by pydantic's code of the error: the name of the bound in the error, and the words."""
ALSO_CALLED = {
    **dict.fromkeys(("tags", "tag", "label"), "labels"),
    **dict.fromkeys(("randomseed", "randomseeds"), "seeds"),
    **dict.fromkeys(("gpu", "gpu0", "cuda0", "nvidia"), "cuda"),
    **dict.fromkeys(("mps", "metal"), "auto"),
    **dict.fromkeys(("batch", "bs", "minibatch", "minibatchsize"), "batch_size"),
    **dict.fromkeys(("learningrate", "stepsize"), "lr"),
    **dict.fromkeys(("epochs", "iterations", "updates", "steps", "numsteps"), "max_steps"),
    **dict.fromkeys(("gradclip", "clipgrad", "clipgradnorm", "gradientclipping", "maxgradnorm"), "clip_norm"),
    **dict.fromkeys(("dtype", "float"), "precision"),
    **dict.fromkeys(("64", "fp64", "f64", "double"), "float64"),
    **dict.fromkeys(("32", "fp32", "f32", "single", "full"), "float32"),
    **dict.fromkeys(("16", "bf16", "fp16", "f16", "float16", "half", "mixed", "bf16mixed", "16mixed"), "bfloat16"),
    **dict.fromkeys(("hidden", "units", "hiddenunits", "hiddendim", "dhidden"), "hidden_size"),
    **dict.fromkeys(("layers", "nlayers", "depth"), "num_layers"),
    **dict.fromkeys(("rnntype", "celltype", "architecture"), "cell"),
    **dict.fromkeys(("gamma", "gain", "initialgain"), "gain_init"),
    **dict.fromkeys(("normalization", "normalisation", "normalizer", "normaliser"), "norm"),
    "epsilon": "eps",
    "ln": "layer_norm",
    "rbn": "recurrent_batch_norm",
    "wn": "weight_norm",
}
"""Other people's words for our names, in small letters without hyphens and underscores."""
TRUTHS = {**dict.fromkeys(("true", "yes", "on", "1"), True), **dict.fromkeys(("false", "no", "off", "0"), False)}
"""Other people's words for true and false, in small letters."""
SHORT = 4  # letters; so short a word is close to too many others, so only one edit is allowed
LEAST_WORD = 3  # letters of a word that may stand for a name with this word in it
LONGEST_LINE = 100  # characters of a line to write
FEW_SEEDS = 20  # most seeds that a message writes out
MAX_SEEDS = 1000  # seeds of an experiment
EXAMPLE_SEEDS = [0, 1, 2]
LONGEST_RANGE = 60  # characters of a text that may be a range of numbers
RANGE = re.compile(r"(\d{1,9})\s*(?:[-–—]|\.\.+|…|to)\s*(\d{1,9})")  # with its last number
PYTHONS_RANGE = re.compile(r"range\(([^()]*)\)|(\d{0,9}:\d{1,9}(?::\d{1,9})?)")  # without it
WHOLE = re.compile(r"[0-9]{1,9}")
THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+")
UNCLEAR = re.compile(r"(?<![\w.,])[-+]?(?:\d+,\d+|\d{1,3}(?:,\d{3})+)(?=[,;]?\s|;|,?$)")


@dataclass(frozen=True, slots=True)
class Form:
    """Annotation of a text: the ``pattern`` that the text must match, and the message ``repair`` if it does not."""

    pattern: str
    repair: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        text = core_schema.str_schema(pattern=self.pattern)
        return core_schema.custom_error_schema(text, "form", custom_error_message=self.repair)


class Advice(str):
    """Message with a line to write. An f-string makes plain text of it; ``after`` keeps the line.

    Attributes:
        words: what is wrong.
        path: path of the field to write; empty if ``value`` is an object for the field that is wrong.
        value: value of the field.
        how: words between ``words`` and the line.
        rest: words after the line.
        is_whole: the line has no blanks, and is not cut.
    """

    words: str
    path: tuple[str | int, ...]
    value: Any
    how: str
    rest: str
    is_whole: bool

    def __new__(
        cls, words: str, path: Sequence[str | int], value: Any, how: str = "; write", rest: str = ""
    ) -> "Advice":
        written = line(path, value) if path else line_of_object(value)
        made = super().__new__(cls, f"{words}{how} {written}{rest}")
        made.is_whole = BLANK not in written
        made.words, made.path, made.value, made.how, made.rest = words, tuple(path), value, how, rest
        return made

    def __getnewargs__(self) -> tuple[Any, ...]:  # answers are copied
        return self.words, self.path, self.value, self.how, self.rest

    def with_line(self, path: Sequence[str | int], value: Any) -> "Advice":
        """Copy the advice with another line."""
        return Advice(self.words, path, value, self.how, self.rest)

    def without_line(self) -> str:
        """Return the words without the line."""
        return f"{self.words.rstrip(' ,;:')}{self.rest}"


def after(words: str, message: str) -> str:
    """Put words before a message. The line of an ``Advice`` stays one."""
    if isinstance(message, Advice):
        return Advice(words + message.words, message.path, message.value, message.how, message.rest)
    return words + message


def message(error: Any) -> str:
    """Write the message for an error of pydantic's, with what to write instead."""
    kind = error["type"]
    if isinstance(told := error.get("ctx", {}).get("message"), Advice):
        return told
    if kind == "literal_error":
        return f"expected {error['ctx']['expected']}; {suggestion(as_name(error['input']), literals(error))}".rstrip(
            "; "
        )
    if kind == "too_short":
        return f"give {error['ctx']['min_length']:,} or more"
    if kind == "too_long":
        return f"give {error['ctx']['max_length']:,} or fewer"
    if kind in ("value_error", "assertion_error"):
        return str(error["ctx"]["error"])  # the text of a plug-in's own validator
    if kind in ("int_type", "float_type"):
        return _a_number(error, whole=kind == "int_type")
    if kind in BOUNDS:
        name, words = BOUNDS[kind]
        bound = error["ctx"][name]
        whole = int(bound) if isinstance(bound, float) and bound.is_integer() else bound
        return f"expected a number {words} {whole}, not {quote_value(error['input'])}"
    if kind == "bool_type" and (truth := TRUTHS.get(str(error["input"]).lower())) is not None:
        return Advice(PLAIN[kind], error["loc"], truth)
    if kind == "string_type":
        return _a_text(error)
    if kind in ("list_type", "tuple_type"):
        return _a_list(error)
    if kind == "dict_type" and error["loc"] == ("labels",):
        return Advice(PLAIN[kind], error["loc"], _label(error["input"]))
    return PLAIN.get(kind, str(error["msg"]))


def literals(error: Any) -> list[str]:
    """Return the texts that a field takes, from pydantic's error that the value is none of them."""
    return QUOTED.findall(error["ctx"]["expected"])


def as_name(given: Any) -> Any:
    """Return a whole number as text, because a name may be one: 32 for ``float32``. Return other values unchanged."""
    return brief(given, LONGEST_NAME) if type(given) is int else given


def _a_number(error: Any, *, whole: bool) -> str:
    """Write the message for a value that is not a number as expected. If possible, the message has the number to write:
    the same number without quotes, or 3 instead of 3.0."""
    given, expected = error["input"], "expected a whole number" if whole else "expected a number"
    if "seeds" in error["loc"] and 0 < len(seeds := _range(given)) <= FEW_SEEDS:
        return Advice(f"{expected}, not {quote_value(given)}", error["loc"], seeds[0], rest=_further(seeds))
    try:
        number = float(given) if isinstance(given, str | float) else math.nan
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or (whole and not number.is_integer()):
        return f"{expected}, not {quote_value(given)}"
    quotes = " without quotes" if isinstance(given, str) else ""
    return Advice(f"{expected}{quotes}", error["loc"], int(number) if whole else number)


def _further(seeds: Sequence[int]) -> str:
    """Write the seeds after the first one."""
    return "".join(f", {seed}" for seed in seeds[1:])


def _a_text(error: Any) -> str:
    given = error["input"]
    if not isinstance(given, int | float | None):
        return "expected text"
    return Advice("expected text", error["loc"], json.dumps(given), "; put it in quotes:")


def _label(given: Any) -> dict[str, str]:
    """Make a label of the text that was given, with a blank for its name."""
    number = json.dumps(given) if isinstance(given, int | float) else BLANK
    return {BLANK: given if isinstance(given, str) else number}


def _a_list(error: Any) -> str:
    given, loc = error["input"], error["loc"]
    if loc[-1] == "seeds":
        return after("expected a list; ", _seeds(loc, given))
    if isinstance(given, dict) and given and all(isinstance(value, int | float) for value in given.values()):
        return Advice("expected a list", loc, [*given.values()])
    if not isinstance(given, str | int | float):
        return PLAIN[error["type"]]
    return Advice("expected a list", loc, [given])


def _seeds(loc: Sequence[str | int], given: Any) -> str:
    """Write the list of seeds that a value may mean. A number may be a count of seeds or one seed; a text may contain
    the seeds, or be a range. For a value that says nothing there is an example."""
    number = int(given) if isinstance(given, float) and given.is_integer() else given
    if type(number) is int and number >= 0:
        if 1 < number <= FEW_SEEDS:
            return Advice("", loc, [*range(number)], "write", f", or [{number}] for seed {number} alone")
        return Advice("", loc, [number], "write")
    return line_of_seeds(loc, _range(given) or _list(given))


def line_of_seeds(loc: Sequence[str | int], seeds: Sequence[int]) -> str:
    """Write the line of these seeds: an example if there is no seed, the first and the last of many seeds."""
    if len(seeds) > MAX_SEEDS:
        return Advice(f"give {MAX_SEEDS:,} or fewer", loc, EXAMPLE_SEEDS, ", as")
    if len(seeds) > FEW_SEEDS:
        first = ", ".join(map(str, seeds[:3]))
        return f'write all {len(seeds):,} numbers, as "seeds": [{first}, …, {seeds[-1]}]'
    return Advice("", loc, [*seeds], "write") if seeds else Advice("write each seed", loc, EXAMPLE_SEEDS, ", as")


def _range(given: Any) -> Sequence[int]:
    """Read a range of numbers: ``0-4``, ``0..4`` and ``0 to 4`` have the last number, Python's ``range(5)`` and ``0:5``
    have not. The result is empty if the value is no range."""
    text = given.strip() if isinstance(given, str) else ""
    if len(text) > LONGEST_RANGE:
        return ()
    if ends := RANGE.fullmatch(text):
        return range(int(ends[1]), int(ends[2]) + 1)
    pythons = PYTHONS_RANGE.fullmatch(text)
    bounds = _whole_numbers(re.split("[,:]", pythons[1] or f"0{pythons[2]}")) if pythons else []
    return range(*bounds) if 1 <= len(bounds) <= 3 and bounds[2:] != [0] else ()


def _list(given: Any) -> Sequence[int]:
    """Read a list of numbers: ``0, 1, 2`` or ``[0, 1, 2]``. The result is empty if the text has anything else, or may
    be one number: ``1,000``."""
    text = given.strip() if isinstance(given, str) else ""
    if THOUSANDS.fullmatch(text):
        return []
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    return _whole_numbers(text.split(",") if "," in text else text.split())


def is_unclear(text: str) -> bool:
    """Tell if a comma in a text may stand inside a number, as in 1,000 or 0,5."""
    return UNCLEAR.search(text.strip()) is not None


def _whole_numbers(texts: Sequence[str]) -> list[int]:
    """Read each text as a whole number; the result is empty if one of them is not a whole number."""
    bare = [text.strip() for text in texts]
    return [int(text) for text in bare] if all(WHOLE.fullmatch(text) for text in bare) else []


def line(path: Sequence[str | int], value: Any) -> str:
    """Write a field with its value as a user types it in JSON or YAML: ``"norm": {"method": "none"}``."""
    for name in reversed(path):
        if isinstance(name, int):  # in a list: the item alone
            break
        value = {name: value}
    written = show_blanks(json.dumps(value, default=str))  # before the cut, which could go through a blank
    if isinstance(value, dict):
        written = written[1:-1]
    return written if len(written) <= LONGEST_LINE else f"{written[:LONGEST_LINE]}…"


def line_of_object(fields: Mapping[str, Any]) -> str:
    """Write an object as a user types it in JSON or YAML: ``{"method": "none"}``. A long object is cut."""
    return f"{{{line((), fields)}}}"


def explain_unknown(given: Any, known: Iterable[str]) -> str:
    """Say why the class of an unknown name is not loaded; if there is no such class, suggest known names.

    Args:
        known: the known names. A registry, or a chain of registries, is asked for classes that are not loaded.
    """
    asked: Iterable[Any] = known.maps if isinstance(known, ChainMap) else [known]
    reasons = (one.not_loaded(given) for one in asked if hasattr(one, "not_loaded"))
    return next((reason for reason in reasons if reason), None) or choose(given, known)


def choose(given: Any, known: Iterable[str]) -> str:
    """Suggest the known names that are close to the given one, or list all names."""
    known = sorted(known)
    return f"{suggestion(given, known)}choose from {', '.join(known)}"


def suggestion(given: Any, known: Iterable[str]) -> str:
    """Write the known names that are close to the given name as a question; an empty text if no name is close."""
    meant = " or ".join(f"'{name}'" for name in nearest(given, known))
    return f"did you mean {meant}? " if meant else ""


def nearest(given: Any, known: Iterable[str]) -> list[str]:
    """Find the known names that ``given`` may mean. A name may differ in capitals or hyphens, or in a few letters. Or
    ``given`` is another word for the name, or one of its words."""
    if not isinstance(given, str) or len(given) > LONGEST_NAME:  # a longer text is not close to any name
        return []
    known = list(known)
    same = same_name(given, known)
    if same is not None:
        return [same]
    with_word = [name for name in known if len(given) >= LEAST_WORD and given.lower() in name.split("_")]
    close = [
        name
        for name in difflib.get_close_matches(given, known, n=1)
        if len(given) > SHORT or _one_edit(given, name) or name.startswith(given.lower())
    ]
    return close or (with_word if len(with_word) <= 2 else [])


def same_name(given: str, known: Iterable[str]) -> str | None:
    """Find the known name that differs from ``given`` only in capitals, hyphens or underscores, or for which ``given``
    is another word; None if there is no such name."""
    if len(given) > LONGEST_NAME:  # the time grows with the length
        return None
    bare = {_bare(name): name for name in known}
    return bare.get(_bare(given)) or bare.get(_bare(ALSO_CALLED.get(_bare(given), "")))


def _bare(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()


def _one_edit(a: str, b: str) -> bool:
    """Tell if two words differ by one edit: a letter added, left out or changed, or two neighbours swapped."""
    while a and b and a[0] == b[0]:
        a, b = a[1:], b[1:]
    while a and b and a[-1] == b[-1]:
        a, b = a[:-1], b[:-1]
    return (len(a) <= 1 and len(b) <= 1) or (len(a) == 2 and a == b[::-1])


def quote_value(given: Any) -> str:
    """Quote a value for a message: at most 60 characters, without halves of surrogate pairs, which cannot be sent."""
    if not isinstance(given, str):
        return brief(given, 60)
    return f"'{given[:60].encode(errors='replace').decode()}'"


def brief(value: Any, most: int) -> str:
    """Return the first ``most`` characters of a value in JSON. The time does not grow with the length of the value."""
    if isinstance(value, str):
        return json.dumps(value[:most])[:most]
    if isinstance(value, int) and abs(value) >= TOO_LONG:  # Python refuses to write longer numbers
        return "a very long number"
    pieces, length = [], 0
    for piece in PIECES.iterencode(value):
        pieces.append(piece[:most])
        length += len(piece)
        if length >= most:
            break
    return "".join(pieces)[:most]
