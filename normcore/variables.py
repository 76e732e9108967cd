"""All ``NORMBENCH_*`` variables that are in use, and a check for misspelt ones. This module does not import torch."""

import difflib
import re
from collections.abc import Mapping
from typing import NamedTuple

DEFAULT_PORT = 8000
MAX_PORTS = 65535


class Variable(NamedTuple):
    """Environment variable of the client: its default value, empty if there is none, and its meaning."""

    default: str
    meaning: str


PREFIX = "NORMBENCH_"
SERVICE = (  # service.settings
    *("DATA_DIR", "DATASETS_DIR", "DATABASE_URL", "BROKER_URL", "ARTIFACTS_URL", "LEASE_SECONDS", "HEARTBEAT_SECONDS"),
    *("DATABASE_CALL_SECONDS", "MAX_ATTEMPTS", "SCHEDULER_SECONDS", "NOTIFY_AGAIN_SECONDS", "BROKER_POLLING_SECONDS"),
    *("STAND_BY", "MAX_BODY_BYTES", "ALLOWED_HOSTS"),
)
WORKERS = ("DEVICE", "THREADS", "CHECKPOINT_SECONDS", "FLUSH_SECONDS", "GRACE_SECONDS", "STALL_SECONDS", "MEMORY_LIMIT")
CLIENT = {  # the compose file uses the port, too
    "URL": Variable(f"http://127.0.0.1:{DEFAULT_PORT}", "Address of the service."),
    "API_KEY": Variable("", "Your key, if the service asks for a key."),
    "PORT": Variable(str(DEFAULT_PORT), "The port of a service on this machine, and of compose."),
}
OTHERS = ("TEST_DATABASE_URL", "TEST_BROKER_URL", "TEST_SCHEMA_CASES")  # tests
KNOWN = frozenset((*SERVICE, *WORKERS, *CLIENT, *OTHERS))

# Variables that Kubernetes sets for services.
KUBERNETES = re.compile(r"(.*_)?(SERVICE_HOST|SERVICE_PORT(_.*)?|PORT(_\d+_(TCP|UDP|SCTP)(_.*)?)?)")
LOOKS_ALIKE = 0.6  # ratio of difflib, which is 1 for equal names


class WrongVariable(ValueError):
    """Error: an environment variable has a value that cannot be used. The message names the variable."""


class MisspeltVariable(ValueError):
    """Error: an environment variable is not in use, but its name is close to a known name. The message has both."""


def check_variables(environment: Mapping[str, str]) -> None:
    """Check that no ``NORMBENCH_*`` variable is misspelt or cut short. A name that is not close to a known name is
    ignored, and so are the variables that Kubernetes sets for services called normbench or normbench-api.

    Raises:
        MisspeltVariable: some variables are misspelt; the message names all of them.
    """
    given = {name: name.upper().removeprefix(PREFIX) for name in environment if name.upper().startswith(PREFIX)}
    unknown = {name: short for name, short in given.items() if short not in KNOWN and not KUBERNETES.fullmatch(short)}
    meant = {name: _find_meant_names(short) for name, short in unknown.items()}
    misspelt = {name: " or ".join(PREFIX + known for known in names) for name, names in meant.items() if names}
    if misspelt:
        raise MisspeltVariable("; ".join(f"{name}: did you mean {known}?" for name, known in misspelt.items()))


def default_port(environment: Mapping[str, str]) -> int:
    """Return the port of a service on this machine: ``NORMBENCH_PORT``, or 8000. Kubernetes sets a variable of the same
    name to the address of a service called normbench; such an address is ignored.

    Raises:
        WrongVariable: the value is not a port.
    """
    written = environment.get(f"{PREFIX}PORT", "")
    if not written or written.startswith(("tcp://", "udp://", "sctp://")):
        return DEFAULT_PORT
    if not written.isascii() or not written.isdigit() or int(written) > MAX_PORTS:
        raise WrongVariable(f"{PREFIX}PORT={written}: expected a port, a number from 0 to {MAX_PORTS}")
    return int(written)


def _find_meant_names(name: str) -> list[str]:
    """Find the known names that a misspelt name may mean: the closest in spelling, or else all that have its words."""
    alike = {known: difflib.SequenceMatcher(None, name, known).ratio() for known in sorted(KNOWN)}
    most = max(alike.values())
    if most >= LOOKS_ALIKE:
        return [known for known, ratio in alike.items() if ratio == most]
    return sorted(known for known in KNOWN if set(name.split("_")) <= set(known.split("_")))
