"""Registry of the classes of one kind: tasks, analyses, methods, cells, models or optimizers.

A class of options stands in the package of its kind below ``normcore.spec``. The tag of the class names the module that
implements it. There is no list of classes: to add a class, add its file.

A package of yours adds a class by an entry point in the group ``normbench.<kind>``. The name of the entry point is the
tag, its value is the class; ``home`` of the class names the module with the implementation. Such a class is checked
before it is used: see ``normcore.spec.plug_ins.check``.
"""

import sys
import time
import warnings
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any, Generic, TypeVar, get_args

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from normcore.spec.messages import LONGEST_NAME, Advice, choose, explain_unknown, nearest, quote_value
from normcore.spec.part import Part
from normcore.spec.plug_ins.errors import CannotRun, PlugInWithTorch, Unfit, UnusablePlugIn, in_words

P = TypeVar("P", bound=Part)
LOOK_SECONDS = 2.0  # during which a newly installed package may not be seen


@lru_cache(maxsize=16)
def _read_entry_points(group: str, moment: int) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name. The result is cached for each ``moment``: to read all packages takes
    tens of milliseconds, and a sweep of unknown names would read them for each name."""
    return {entry.name: entry for entry in entry_points(group=group)}


class Registry(Mapping[str, type[P]], Generic[P]):
    """Registry of the classes of one kind, by tag; our own classes come first. As an annotation of a field, a registry
    is the tagged union of its classes: ``norm: Annotated[Method, METHODS]``.

    Args:
        kind: name of the kind in the plural; the group of the entry points is ``normbench.<kind>``.
        base: base class of all classes.
        package: package below ``normcore.spec`` whose modules hold the classes.
        tag: the field, or class variable, that holds the tag of a class.
        implemented_in: package with the modules that implement the classes; each module has the name of a tag.
    """

    def __init__(self, kind: str, base: type[P], package: str, *, tag: str, implemented_in: str) -> None:
        self.group = f"normbench.{kind}"
        self.tag = tag
        self._base = base
        self._package = package
        self._implemented_in = implemented_in
        self._packages: dict[str, str] = {}
        self._left_out: dict[str, str] = {}

    @cached_property
    def ours(self) -> Mapping[str, type[P]]:
        """Classes that come with normbench, by tag."""
        package = import_module(self._package)
        found: dict[str, type[P]] = {}
        for name in sorted(module.name for module in iter_modules(package.__path__)):
            found |= self._in_module(import_module(f"{self._package}.{name}"))
        return found

    @cached_property
    def _all(self) -> Mapping[str, type[P]]:
        return {**self.ours, **self.load_plug_ins(entry_points(group=self.group))}

    def __getitem__(self, tag: str) -> type[P]:
        return self._all[tag]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def __hash__(self) -> int:
        return id(self)

    def tag_of(self, part: P | type[P]) -> str:
        """Return the tag of a class, or of the class of an instance."""
        kind = part if isinstance(part, type) else type(part)
        field = kind.model_fields.get(self.tag)
        tag: str = field.default if field else getattr(kind, self.tag)
        return tag

    def module_of(self, part: P | type[P]) -> str:
        """Name the module that implements a class: the module of its tag, unless ``home`` names another one, as
        ``module`` or ``module:Class``.

        If the module of the tag exists, it replaces an inherited ``home``.
        """
        return self._home(part)[0]

    def _home(self, part: P | type[P]) -> tuple[str, str]:
        """Name the module and the class that implement a class of options."""
        kind = part if isinstance(part, type) else type(part)
        module, _, name = kind.home.partition(":")
        own = f"{self._implemented_in}.{self.tag_of(kind)}"
        inherited = "home" not in vars(kind) and kind.__module__.startswith(f"{self._package}.")
        if not module or (inherited and module != own and _is_there(own)):
            module, name = own, ""
        return module, name or kind.__name__

    def implementation(self, options: P, name: str = "") -> Any:
        """Find the implementation of ``options`` in the module that implements them: the object called ``name``. If
        ``name`` is empty, find the class that ``home`` names, or else the class with the name of the class of options.

        Raises:
            CannotRun: the implementation belongs to another package and cannot be imported.
        """
        (module, usual), tag = self._home(options), self.tag_of(options)
        name = name or usual
        try:
            return getattr(import_module(module), name)
        except (Exception, SystemExit) as error:
            if tag in self.ours:
                raise
            package = self.origin(tag) or "an unknown package"
            raise CannotRun(f"{tag}, of {package}: {module}:{name} cannot be imported: {in_words(error)}") from error

    def origin(self, tag: str) -> str | None:
        """Return the package and version that the class of a tag comes from; None if the class is ours."""
        if tag in self.ours:
            return None  # first, because to read all packages takes tens of milliseconds
        return self._packages.get(tag) if tag in self else None

    # -- as a union in a spec ----------------------------------------------------------------------

    def validate(self, value: Any) -> P:
        """Make a part of a spec from a mapping of options.

        Raises:
            PydanticCustomError: ``value`` is not a mapping, or its tag is unknown.
            pydantic.ValidationError: an option is wrong.
        """
        if isinstance(value, self._base):
            return value
        if not isinstance(value, dict | Mapping):  # dict first: asking an abstract class takes longer
            raise _error("object", self._object_of(value))
        tag = value.get(self.tag)
        if tag is None:
            raise self._make_unknown_error(f"it is required; {choose(None, self)}")
        kind = self._all.get(tag) if isinstance(tag, str) else None
        if kind is None:
            raise self._make_unknown_error(f"unknown {quote_value(tag)}; {explain_unknown(tag, self)}")
        return kind.model_validate(value)

    def not_loaded(self, tag: Any) -> str | None:
        """Say why the class of this tag is installed but cannot be used; None if no such class is installed."""
        if not isinstance(tag, str) or len(tag) > LONGEST_NAME or not tag.isidentifier():
            return None
        if tag in self._left_out:
            return self._left_out[tag]
        files = [Path(folder, f"{tag}.py") for folder in import_module(self._package).__path__]
        is_loaded = f"{self._package}.{tag}" in sys.modules  # then its file has no class of this tag
        here = next((str(file) for file in files if file.is_file() and not is_loaded), None)
        point = _read_entry_points(self.group, int(time.monotonic() / LOOK_SECONDS)).get(tag)
        if here is None and point is None:
            return None
        where = here or (f"{point.dist.name} {point.dist.version}" if point and point.dist else "a new package")
        return f"{where} has it, but this process has not loaded it; restart the API and the workers"

    def _object_of(self, value: Any) -> Advice:
        """Say which object to write for a value that is no object. A text may be a tag; the example has the tag
        ``none`` if there is one, else the first tag."""
        meant = nearest(value, self)
        is_unknown = isinstance(value, str) and not meant
        unknown = f"unknown {quote_value(value)}; {explain_unknown(value, self)}; " if is_unknown else ""
        usual = "none" if "none" in self else next(iter(self))
        return Advice(f"{unknown}expected an object", (), {self.tag: [*meant, usual][0]}, ", as")

    def _make_unknown_error(self, message: str) -> PydanticCustomError:
        return _error(f"unknown_{self.tag}", message, self.tag)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.validate, serialization=BY_ITS_OWN_CLASS)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        choices = {tag: kind.__pydantic_core_schema__ for tag, kind in self.items()}
        return handler(core_schema.tagged_union_schema(choices, discriminator=self.tag))

    # -- where classes come from -------------------------------------------------------------------

    def _in_module(self, module: ModuleType) -> dict[str, type[P]]:
        classes = [
            value for value in vars(module).values() if isinstance(value, type) and issubclass(value, self._base)
        ]
        own = [kind for kind in classes if kind.__module__ == module.__name__ and self._has_tag(kind)]
        for kind in own:
            self._require_one_home(kind)
        return {self.tag_of(kind): kind for kind in own}

    def _require_one_home(self, kind: type[P]) -> None:
        """Check that only one module implements a class.

        Raises:
            TypeError: the class names another module as its ``home``, but the module of its tag exists, too.
        """
        home, own = vars(kind).get("home", "").partition(":")[0], f"{self._implemented_in}.{self.tag_of(kind)}"
        if home and home != own and _is_there(own):
            raise TypeError(f"{kind.__qualname__}: home names {home}, and there is {own}, too; remove one of them")

    def _has_tag(self, kind: type[P]) -> bool:
        field = kind.model_fields.get(self.tag)
        return isinstance(field.default, str) if field else self.tag in vars(kind)

    def load_plug_ins(self, entries: Any) -> dict[str, type[P]]:
        """Load the classes of ``entries``, by tag. A class that cannot be used is left out, and a warning says why."""
        ours, found = self.ours, dict[str, type[P]]()
        for entry in entries:
            try:
                found[entry.name] = self._load_checked(entry, {**ours, **found})
            except (Exception, SystemExit) as error:
                left_out = f"{self.group}: {entry.name} ({entry.value}) is left out: {in_words(error)}"
                self._left_out[entry.name] = left_out
                warnings.warn(left_out, UnusablePlugIn, stacklevel=3)
            else:
                if entry.dist is not None:
                    self._packages[entry.name] = f"{entry.dist.name} {entry.dist.version}"
        return found

    def _load_checked(self, entry: EntryPoint, taken: Mapping[str, type[P]]) -> type[P]:
        from normcore.spec.plug_ins.check import check  # it needs all registries

        kind = self._load_entry(entry)
        if not (isinstance(kind, type) and issubclass(kind, self._base)):
            raise Unfit(f"expected a subclass of {self._base.__module__}.{self._base.__name__}")
        if not self._is_tagged(kind, entry.name):
            raise Unfit(f'expected its field {self.tag}: Literal["{entry.name}"] = "{entry.name}"')
        if entry.name in taken:
            raise Unfit("another class has this name already")
        check(kind)
        return kind

    def _load_entry(self, entry: EntryPoint) -> Any:
        had_torch = "torch" in sys.modules
        try:
            return entry.load()
        finally:
            if "torch" in sys.modules and not had_torch:
                package = f"{entry.dist.name} {entry.dist.version}" if entry.dist else entry.value
                heavy = (
                    f"{self.group}: {entry.name} of {package} imports torch with its options, so the API holds torch"
                )
                warnings.warn(f"{heavy}; import it only in the module that home names", PlugInWithTorch, stacklevel=5)

    def _is_tagged(self, kind: type[P], tag: str) -> bool:
        """Tell if ``tag`` is the only value that the tag field of a class can have."""
        field = kind.model_fields.get(self.tag)
        choices = get_args(field.annotation) if field else (tag,)
        return self._has_tag(kind) and self.tag_of(kind) == tag and choices == (tag,)


def _is_there(module: str) -> bool:
    """Tell if a module has a file, without importing the module, because it may need torch."""
    package, *names = module.split(".")
    try:
        places = [Path(root, *names) for root in import_module(package).__path__]
    except ModuleNotFoundError:
        return False
    return any(place.with_suffix(".py").is_file() or (place / "__init__.py").is_file() for place in places)


def _error(code: str, message: str, *loc: str) -> PydanticCustomError:
    return PydanticCustomError(code, "{message}", {"loc": list(loc), "message": message})


BY_ITS_OWN_CLASS = core_schema.simple_ser_schema("any")
"""A part is written with all fields of its own class, not only those of the annotated one."""
