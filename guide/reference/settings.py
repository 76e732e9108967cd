"""Reference page of the settings, written from the classes that read them."""

from typing import Any

from pydantic.fields import FieldInfo

from guide.reference.markdown import code, joined, prose, table
from normcore.variables import CLIENT, PREFIX
from service.settings import Settings
from workers.settings import WorkerSettings


def page() -> str:
    """Markdown of the page of the settings."""
    service = Settings.model_fields
    of_worker = {name: field for name, field in WorkerSettings.model_fields.items() if name not in service}
    return joined(
        "# Settings",
        "Settings are environment variables. Each process reads them once, as it starts; a misspelt name is refused.",
        "## Every process of the service",
        prose(Settings.__doc__),
        _table(service),
        "## Workers",
        prose(WorkerSettings.__doc__),
        _table(of_worker),
        "## Client and command line",
        table(
            ("variable", "default", "meaning"),
            [(code(PREFIX + name), code(of.default) if of.default else "", of.meaning) for name, of in CLIENT.items()],
        ),
    )


def _table(fields: dict[str, FieldInfo]) -> str:
    rows = [(code(PREFIX + name.upper()), _default(field), prose(field.description)) for name, field in fields.items()]
    return table(("variable", "default", "meaning"), rows)


def _default(field: FieldInfo) -> str:
    default: Any = field.default
    if field.default_factory is not None or default in (None, ""):
        return ""  # the description names the default
    if isinstance(default, bool):
        return code(str(default).lower())
    return code(f"{default:g}" if isinstance(default, float) else str(default))
