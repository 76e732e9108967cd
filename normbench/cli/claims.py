"""Commands of results that were measured elsewhere."""

from pathlib import Path
from typing import Annotated, cast

import typer

from normbench.answers import ResultState
from normbench.cli import command, options
from normbench.cli.command import Json
from normbench.display import claims as display
from normbench.display.runs import moment
from normbench.errors import NormbenchError, Refused, Unauthorized, Unavailable

FORMS: list[list[str | int]] = [[], ["values"], ["provenance"]]  # an error in one of these fields shows the example
EXAMPLE = """\
task: {name: permuted_digits, profile: smoke}    # a spec without seeds; the profile has what is omitted
norm: {method: layer_norm}
values:                                          # of each seed the test value of the task's first metric
  - {seed: 0, value: 0.61}
  - {seed: 1, value: 0.62}
provenance:
  source: https://example.org/log                # where to read about it
  code: 3c90448                                  # may be omitted, as hardware and note
  hardware: a laptop
"""


def claim(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="YAML or JSON with a spec, values by seed, and provenance; - is standard input."
        ),
    ],
    idempotency_key: Annotated[
        str | None, typer.Option(help="Submitting the file again with this key finds the same result.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Submit a result that was measured elsewhere.

    Boards show it as claimed until fresh seeds, trained by this service, agree
    with it. A file with the same spec, values and provenance as an earlier one
    adds nothing.
    """
    file = command.standard_input_or(file)
    written = command.read(file)
    try:
        result, is_new = command.client().claim_once(written, idempotency_key=idempotency_key)
    except (Unauthorized, Unavailable):
        raise
    except Refused as refusal:
        named = command.add_file_name(file, refusal)
        if not any(error["loc"][:1] in FORMS and len(error["loc"]) <= 2 for error in refusal.errors):
            raise named from None
        raise NormbenchError(f"{named}\nA claim looks like this:\n\n{EXAMPLE}") from None
    command.show(as_json, result, display.claim(result))
    if not is_new:
        command.note(f"{result['id']} of {moment(result['created_at'])} says the same; nothing was added")


def claims(
    task: options.OfTask = None,
    profile: options.OfProfile = None,
    method: options.WithMethod = None,
    state: Annotated[str | None, typer.Option(help="claimed, confirmed, disputed or withdrawn.")] = None,
    as_json: Json = False,
) -> None:
    """Show results that were measured elsewhere, and if fresh seeds of this service agree with them."""
    wanted = cast(ResultState | None, state)
    found = list(command.client().claims(task=task, profile=profile, method=method, state=wanted))
    command.show(as_json, found, display.claims(found))


def withdraw(
    result_id: Annotated[str, typer.Argument(metavar="ID", help="A submitted result, res_…")], as_json: Json = False
) -> None:
    """Take a submitted result off its board."""
    result = command.client().withdraw(result_id)
    command.say(as_json, result, f"{result['id']}: {result['state']}")
