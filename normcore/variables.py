"""Every ``NORMBENCH_*`` variable that somebody reads, and what is said of one that nobody does. Torch-free."""

import difflib
import re
from collections.abc import Mapping

PREFIX = "NORMBENCH_"
SERVICE = (  # service.settings
    *("DATA_DIR", "DATASETS_DIR", "DATABASE_URL", "BROKER_URL", "ARTIFACTS_URL", "LEASE_SECONDS", "HEARTBEAT_SECONDS"),
    *("DATABASE_CALL_SECONDS", "MAX_ATTEMPTS", "SCHEDULER_SECONDS", "NOTIFY_AGAIN_SECONDS", "BROKER_POLLING_SECONDS"),
    *("STAND_BY", "MAX_BODY_BYTES", "ALLOWED_HOSTS"),
)
WORKERS = ("DEVICE", "THREADS", "CHECKPOINT_SECONDS", "FLUSH_SECONDS", "GRACE_SECONDS", "STALL_SECONDS", "MEMORY_LIMIT")
CLIENT = ("URL", "API_KEY", "PORT")  # the port is that of compose, too
OTHERS = ("TEST_DATABASE_URL", "TEST_BROKER_URL", "TEST_SCHEMA_CASES")  # tests
KNOWN = frozenset((*SERVICE, *WORKERS, *CLIENT, *OTHERS))

KUBERNETES = re.compile(r"(.*_)?(SERVICE_HOST|SERVICE_PORT(_.*)?|PORT(_\d+_(TCP|UDP|SCTP)(_.*)?)?)")  # of its services
LOOKS_ALIKE = 0.6  # of difflib's ratio, 1 for two that are equal


DEFAULT_PORT = 8000
MOST_PORTS = 65535


class WrongVariable(ValueError):
    """A variable that holds what nobody can use; the message names it."""


class MisspeltVariable(ValueError):
    """A variable that nobody reads, and that looks like one somebody does; the message names both."""


def check_variables(environment: Mapping[str, str]) -> None:
    """See that no variable is misspelt or cut short. What looks like none of ours is let be, and so is what Kubernetes
    sets for services that are called normbench or normbench-api.

    Raises:
        MisspeltVariable: naming all that are.
    """
    given = {name: name.upper().removeprefix(PREFIX) for name in environment if name.upper().startswith(PREFIX)}
    unknown = {name: short for name, short in given.items() if short not in KNOWN and not KUBERNETES.fullmatch(short)}
    meant = {name: _meant(short) for name, short in unknown.items()}
    misspelt = {name: " or ".join(PREFIX + known for known in names) for name, names in meant.items() if names}
    if misspelt:
        raise MisspeltVariable("; ".join(f"{name}: did you mean {known}?" for name, known in misspelt.items()))


def default_port(environment: Mapping[str, str]) -> int:
    """The port of a service on this machine: ``NORMBENCH_PORT``, or 8000. Kubernetes gives that name to the address of
    a service called normbench, which says nothing of ours.

    Raises:
        WrongVariable: it is no port.
    """
    written = environment.get(f"{PREFIX}PORT", "")
    if not written or written.startswith(("tcp://", "udp://", "sctp://")):
        return DEFAULT_PORT
    if not written.isascii() or not written.isdigit() or int(written) > MOST_PORTS:
        raise WrongVariable(f"{PREFIX}PORT={written}: expected a port, a number from 0 to {MOST_PORTS}")
    return int(written)


def _meant(name: str) -> list[str]:
    """The variables that this looks like: spelt most nearly so, or else with all of its words."""
    alike = {known: difflib.SequenceMatcher(None, name, known).ratio() for known in sorted(KNOWN)}
    most = max(alike.values())
    if most >= LOOKS_ALIKE:
        return [known for known, ratio in alike.items() if ratio == most]
    return sorted(known for known in KNOWN if set(name.split("_")) <= set(known.split("_")))
