"""A registry finds every kind of part: our own in their packages, and those of other packages by entry points."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Annotated, Any, ClassVar

import jsonschema
import pytest
from pydantic import BaseModel
from pydantic_core import PydanticCustomError

import normcore.cells.lstm
import normcore.norms.layer_norm
import normcore.tasks.char_lm
from normcore.spec import InvalidSpec, resolve
from normcore.spec.analyses import ANALYSES
from normcore.spec.cells import CELLS
from normcore.spec.cells.lstm import LSTM
from normcore.spec.methods import METHODS
from normcore.spec.methods.layer_norm import LayerNorm
from normcore.spec.methods.method import Method
from normcore.spec.methods.none import NoNorm
from normcore.spec.models import MODELS
from normcore.spec.models.conv_net import ConvNet
from normcore.spec.models.feed_forward import FeedForward
from normcore.spec.models.recurrent import RecurrentModel
from normcore.spec.optimizers import OPTIMIZERS
from normcore.spec.plug_ins.errors import CannotRun, UnusablePlugIn
from normcore.spec.registry import Registry, _read_entry_points
from normcore.spec.tasks import BENCHMARKS
from normcore.spec.tasks.char_lm import CharLM

REGISTRIES: dict[str, Registry[Any]] = {
    "tasks": BENCHMARKS,
    "analyses": ANALYSES,
    "methods": METHODS,
    "cells": CELLS,
    "models": MODELS,
    "optimizers": OPTIMIZERS,
}
EXPECTED = {
    "tasks": {
        *("attentive_reader", "char_lm", "convnet", "draw", "feedforward", "handwriting", "order_embedding"),
        *("permuted_digits", "permuted_mnist", "sequential_digits", "sequential_mnist", "skip_thoughts"),
    },
    "analyses": {
        *("fisher_geometry", "gradient_flow", "hidden_dynamics", "invariances", "length_generalization"),
        *("population_statistics", "smallest_batch", "step_cost"),
    },
    "methods": {
        *("batch_norm", "batch_renorm", "dynamic_tanh", "group_norm", "instance_norm", "layer_norm", "none"),
        *("query_key_norm", "recurrent_batch_norm", "rms_norm", "sequence_batch_norm", "weight_norm"),
    },
    "cells": {"gru", "lstm", "rnn"},
    "models": {
        *("attentive_reader", "conv_net", "draw", "feed_forward", "handwriting", "order_embedding", "recurrent"),
        "skip_thoughts",
    },
    "optimizers": {"adam", "rmsprop", "toronto_adam"},
}


# -- members ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", REGISTRIES)
def test_every_class_that_comes_with_normbench_is_found(kind: str) -> None:
    assert set(REGISTRIES[kind].ours) >= EXPECTED[kind]


def test_base_classes_and_imported_classes_are_not_members() -> None:
    assert METHODS["layer_norm"] is LayerNorm
    assert all(kind.__module__ == f"normcore.spec.methods.{tag}" for tag, kind in METHODS.ours.items())
    assert "layer" not in METHODS
    assert None not in METHODS.values()


@pytest.mark.parametrize("kind", REGISTRIES)
def test_tags_name_their_classes(kind: str) -> None:
    registry = REGISTRIES[kind]
    assert len(registry) == len(list(registry)) == len(set(registry.values()))
    for tag, member in registry.items():
        assert registry.tag_of(member) == tag


def test_members_are_ordered_by_module_name_and_then_by_line() -> None:
    assert list(METHODS.ours) == sorted(METHODS.ours)
    pixels = ["sequential_mnist", "permuted_mnist", "sequential_digits", "permuted_digits"]
    images = ["feedforward", "convnet"]
    others = ["attentive_reader", "char_lm", "draw", "handwriting"]
    found = [name for name in BENCHMARKS.ours if name in EXPECTED["tasks"]]
    assert found == [*others, *images, "order_embedding", *pixels, "skip_thoughts"]


def test_a_class_belongs_to_the_module_that_defines_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Importing it elsewhere changes nothing: here the first module imports the class of the second."""
    package = tmp_path / "made_methods"
    package.mkdir()
    (package / "__init__.py").touch()
    made = """
from typing import Literal
from normcore.spec.methods.method import Method
{imported}
class {name}(Method):
    method: Literal["{tag}"] = "{tag}"
"""
    (package / "a.py").write_text(made.format(name="A", tag="first", imported="from made_methods.b import B"))
    (package / "b.py").write_text(made.format(name="B", tag="second", imported=""))
    monkeypatch.syspath_prepend(tmp_path)
    registry = Registry("made", Method, "made_methods", tag="method", implemented_in="nowhere")
    assert list(registry.ours) == ["first", "second"]
    assert [kind.__name__ for kind in registry.values()] == ["A", "B"]


def test_instance_has_the_tag_of_its_class() -> None:
    assert METHODS.tag_of(LayerNorm(eps=1e-3)) == "layer_norm"
    assert CELLS.tag_of(LSTM()) == "lstm"
    assert MODELS.tag_of(LSTM()) == "recurrent"
    assert MODELS.tag_of(ConvNet) == "conv_net"


# -- implementations -------------------------------------------------------------------------------


class ByModule(LayerNorm):
    home: ClassVar[str] = __name__


class ByModuleAndClass(LayerNorm):
    home: ClassVar[str] = f"{__name__}:NamedClass"


class NamedClass:
    pass


def test_the_implementation_is_the_class_of_the_same_name_in_the_module_of_the_tag() -> None:
    assert METHODS.implementation(LayerNorm()) is normcore.norms.layer_norm.LayerNorm
    assert CELLS.implementation(LSTM()) is normcore.cells.lstm.LSTM


def test_home_names_another_module_or_a_class_in_it() -> None:
    assert METHODS.implementation(ByModule()) is ByModule
    assert METHODS.implementation(ByModuleAndClass()) is NamedClass
    assert BENCHMARKS.implementation(CharLM()) is normcore.tasks.char_lm.CharacterModelling


MADE_TASK = """
from typing import ClassVar, Literal
from normcore.spec.methods.layer_norm import LayerNorm
class Kind(LayerNorm):
    home: ClassVar[str] = "made_norms.shared:Shared"
class Made(Kind):
    method: Literal["made"] = "made"
    {home}
"""


def made_registry(folder: Path, monkeypatch: pytest.MonkeyPatch, *modules: str, home: str = "") -> Registry[Method]:
    """Write a package of options, one class of which inherits its home, and a package with these modules for them."""
    for package, contents in (("made_spec", {"made": MADE_TASK.format(home=home)}), ("made_norms", {})):
        (folder / package).mkdir()
        files = {"__init__": "", **contents, **({} if contents else dict.fromkeys(modules, "class Made: pass"))}
        for name, source in files.items():
            (folder / package / f"{name}.py").write_text(source)
    monkeypatch.syspath_prepend(folder)
    for name in [name for name in sys.modules if name.startswith(("made_spec", "made_norms"))]:
        monkeypatch.delitem(sys.modules, name)
    return Registry("made", Method, "made_spec", tag="method", implemented_in="made_norms")


@pytest.mark.parametrize(
    ("modules", "module"), [(["shared"], "made_norms.shared"), (["shared", "made"], "made_norms.made")]
)
def test_module_of_the_tag_overrides_an_inherited_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, modules: list[str], module: str
) -> None:
    registry = made_registry(tmp_path, monkeypatch, *modules)
    assert registry.module_of(registry["made"]) == module
    if "made" in modules:
        implementation = registry.implementation(registry["made"](method="made"))
        assert (implementation.__module__, implementation.__name__) == ("made_norms.made", "Made")


def test_home_and_module_of_the_tag_together_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = made_registry(
        tmp_path, monkeypatch, "shared", "made", home='home: ClassVar[str] = "made_norms.shared:Shared"'
    )
    with pytest.raises(TypeError, match=r"Made: home names made_norms.shared, and there is made_norms.made, too"):
        registry.ours  # noqa: B018


def test_home_in_the_module_of_the_tag_names_the_class(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = made_registry(tmp_path, monkeypatch, "made", home='home: ClassVar[str] = "made_norms.made:Made"')
    assert registry.implementation(registry["made"](method="made")).__module__ == "made_norms.made"


IMPLEMENTED = [(kind, tag) for kind in REGISTRIES if kind not in ("models", "analyses") for tag in REGISTRIES[kind]]


@pytest.mark.parametrize(("kind", "tag"), IMPLEMENTED)
def test_every_class_of_options_has_an_implementation(kind: str, tag: str) -> None:
    registry = REGISTRIES[kind]
    required = {"dataset": "digits", "lr": 1e-3}
    fields = registry[tag].model_fields
    options = registry[tag].model_validate({name: required[name] for name in fields if fields[name].is_required()})
    assert callable(registry.implementation(options))


# -- as a field of a spec --------------------------------------------------------------------------


class Spec(BaseModel):
    norm: Annotated[Method, METHODS]


def test_a_mapping_becomes_the_class_of_its_tag() -> None:
    assert METHODS.validate({"method": "layer_norm", "eps": 0.5}) == LayerNorm(eps=0.5)
    assert METHODS.validate(LayerNorm()) == LayerNorm()


@pytest.mark.parametrize(
    ("value", "message", "loc"),
    [
        ("layer_norm", 'expected an object, as {"method": "layer_norm"}', []),
        ("later_norm", 'expected an object, as {"method": "layer_norm"}', []),
        (None, 'expected an object, as {"method": "none"}', []),
        ([], 'expected an object, as {"method": "none"}', []),
        ({}, "it is required; choose from batch_norm, ", ["method"]),
        ({"eps": 1.0}, "it is required; choose from batch_norm, ", ["method"]),
        ({"method": "layernorm"}, "unknown 'layernorm'; did you mean 'layer_norm'? choose from", ["method"]),
        ({"method": ["layer_norm"]}, 'unknown ["layer_norm"]; choose from', ["method"]),
        ({"method": 3}, "unknown 3; choose from", ["method"]),
    ],
)
def test_value_without_a_known_tag_is_refused_with_the_known_tags(value: Any, message: str, loc: list[str]) -> None:
    with pytest.raises(PydanticCustomError) as caught:
        METHODS.validate(value)
    assert message in caught.value.message()
    assert caught.value.context is not None
    assert caught.value.context["loc"] == loc


def test_a_part_is_written_with_the_fields_of_its_own_class() -> None:
    written = Spec(norm=LayerNorm()).model_dump(mode="json")
    assert written["norm"].keys() == LayerNorm.model_fields.keys()
    assert written["norm"]["sites"] == ["input", "recurrent", "cell"]
    assert Spec.model_validate_json(Spec(norm=LayerNorm(eps=0.5)).model_dump_json()).norm == LayerNorm(eps=0.5)


def test_json_schema_is_a_union_discriminated_by_the_tag() -> None:
    schema = Spec.model_json_schema()
    norm = schema["properties"]["norm"]
    assert norm["discriminator"]["propertyName"] == "method"
    assert set(norm["discriminator"]["mapping"]) == set(METHODS)
    assert [choice["$ref"] for choice in norm["oneOf"]] == list(norm["discriminator"]["mapping"].values())
    assert len(norm["oneOf"]) == len(METHODS)


def test_the_json_schema_agrees_with_what_is_accepted() -> None:
    check = jsonschema.Draft202012Validator(Spec.model_json_schema())
    for tag in METHODS:
        assert check.is_valid({"norm": {"method": tag}})
    assert not check.is_valid({"norm": {"method": "another"}})
    assert not check.is_valid({"norm": {"method": "layer_norm", "eps": -1.0}})
    assert not check.is_valid({"norm": {"method": "layer_norm", "gain": 1.0}})


# -- classes of other packages ---------------------------------------------------------------------

OPTIONS = '''
from typing import ClassVar, Literal
from normcore.spec.methods.method import Method

class Good(Method):
    """A method of another package."""
    title: ClassVar[str] = "Good"
    citation: ClassVar[str] = "nobody"
    takes: ClassVar[frozenset[str]] = frozenset({"layer"})
    home: ClassVar[str] = "%(module)s:Implementation"
    method: Literal["good"] = "good"

class Homeless(Good):
    home: ClassVar[str] = ""
    method: Literal["homeless"] = "homeless"

class Shadow(Good):
    method: Literal["layer_norm"] = "layer_norm"

class Second(Good):
    pass

class Tagless(Method):
    home: ClassVar[str] = "%(module)s"

class Implementation:
    def __init__(self, options): pass

NOT_A_CLASS = 3
'''
Install = Callable[..., Registry[Method]]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Function that puts a package with entry points on the path, as pip does, and returns a new registry."""

    def installed(source: str = OPTIONS, **entries: str) -> Registry[Method]:
        module = f"someones_{tmp_path.name.replace('-', '_')}"  # a separate module for each test
        (tmp_path / f"{module}.py").write_text(dedent(source) % {"module": module} if "%(" in source else source)
        about = tmp_path / "someones_methods-1.2.dist-info"
        about.mkdir()
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: someones-methods\nVersion: 1.2\n")
        lines = [f"{name} = {value.format(module=module)}" for name, value in entries.items()]
        (about / "entry_points.txt").write_text("\n".join(["[normbench.methods]", *lines, ""]))
        monkeypatch.syspath_prepend(tmp_path)
        return Registry("methods", Method, "normcore.spec.methods", tag="method", implemented_in="normcore.norms")

    return installed


def test_method_of_another_package_is_used_like_our_own(install: Install) -> None:
    registry = install(good="{module}:Good")
    assert list(registry) == [*METHODS.ours, "good"], "ours come first"
    good = registry.validate({"method": "good"})
    assert type(good).__name__ == "Good"
    assert registry.implementation(good).__name__ == "Implementation"
    assert registry.tag_of(good) == "good"
    assert "good" not in registry.ours


@pytest.mark.parametrize(
    ("implementation", "reason"),
    [
        ("import no_such_compiler", "ModuleNotFoundError: No module named 'no_such_compiler'"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("", "AttributeError: module '{module}' has no attribute 'Other'"),
    ],
)
def test_implementation_that_cannot_be_imported_is_reported_with_package_and_class(
    install: Install, tmp_path: Path, implementation: str, reason: str
) -> None:
    module = f"layers_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{module}.py").write_text(implementation)
    registry = install(OPTIONS.replace("%(module)s:Implementation", f"{module}:Other"), good="{module}:Good")
    with pytest.raises(CannotRun) as caught:
        registry.implementation(registry.validate({"method": "good"}))
    told = f"good, of someones-methods 1.2: {module}:Other cannot be imported: {reason.format(module=module)}"
    assert str(caught.value) == told


def test_missing_implementation_of_our_own_raises_the_original_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        METHODS.implementation(LayerNorm(), "Nothing")


def test_origin_is_the_package_of_a_plug_in_and_none_for_our_own(install: Install) -> None:
    registry = install(good="{module}:Good", layer_norm="{module}:Shadow")
    assert registry.origin("good") == "someones-methods 1.2"
    assert registry.origin("layer_norm") is None
    assert registry.origin("none") is None
    assert registry.origin("nobodys") is None


def test_origin_is_not_a_package_whose_class_was_left_out(install: Install, tmp_path: Path) -> None:
    registry = install(good="{module}:Good")
    about = tmp_path / "another_methods-0.1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: another-methods\nVersion: 0.1\n")
    (about / "entry_points.txt").write_text("[normbench.methods]\ngood = nowhere_at_all:Good\n")
    with pytest.warns(UnusablePlugIn, match="No module named 'nowhere_at_all'"):
        assert registry.origin("good") == "someones-methods 1.2"


UNUSABLE = [
    ("absent", "no_such_module_at_all:Good", "No module named 'no_such_module_at_all'"),
    ("good", "{module}:Missing", "has no attribute 'Missing'"),
    ("good", "{module}:NOT_A_CLASS", "expected a subclass of normcore.spec.methods.method.Method"),
    ("good", "{module}:Implementation", "expected a subclass of normcore.spec.methods.method.Method"),
    ("lstm", "normcore.spec.cells.lstm:LSTM", "expected a subclass of normcore.spec.methods.method.Method"),
    ("better", "{module}:Good", r'expected its field method: Literal\["better"\] = "better"'),
    ("tagless", "{module}:Tagless", r'expected its field method: Literal\["tagless"\]'),
    ("homeless", "{module}:Homeless", "home: expected the module that implements it"),
    ("layer_norm", "{module}:Shadow", "another class has this name already"),
]


@pytest.mark.parametrize(("name", "value", "reason"), UNUSABLE, ids=[f"{u[0]}-{u[1]}" for u in UNUSABLE])
def test_unusable_plug_in_is_left_out_with_the_reason(install: Install, name: str, value: str, reason: str) -> None:
    registry = install(**{name: value})
    with pytest.warns(UnusablePlugIn, match=reason) as warned:
        assert name not in registry or registry[name] is METHODS.ours[name]
    assert [str(w.message).partition(" (")[0] for w in warned] == [f"normbench.methods: {name}"]
    assert list(registry)[: len(METHODS.ours)] == list(METHODS.ours)
    assert registry.validate({"method": "none"}) == NoNorm()


@pytest.mark.parametrize(
    "source",
    [
        *(
            "raise RuntimeError('broken on import')",
            "def (",
            "import sys; raise ImportError('needs a newer normbench')",
        ),
        "class Mute(Exception):\n    def __str__(self):\n        raise ValueError\nraise Mute",
    ],
)
def test_package_that_cannot_be_imported_leaves_the_registry_intact(install: Install, source: str) -> None:
    registry = install(source, good="{module}:Good")
    with pytest.warns(UnusablePlugIn, match="good .* is left out: .*[a-z]"):
        assert list(registry) == list(METHODS.ours)


def refusal(registry: Registry[Method], tag: str) -> str:
    with pytest.raises(PydanticCustomError) as refused:
        registry.validate({"method": tag})
    return refused.value.message()


def test_package_installed_after_the_registry_was_read_is_refused_with_the_repair(install: Install) -> None:
    registry = Registry("methods", Method, "normcore.spec.methods", tag="method", implemented_in="normcore.norms")
    assert "good" not in registry
    install(good="{module}:Good")
    _read_entry_points.cache_clear()
    assert refusal(registry, "good") == (
        "unknown 'good'; someones-methods 1.2 has it, but this process has not loaded it; restart the API and the"
        " workers"
    )
    assert "choose from" in refusal(registry, "nowhere")


@pytest.mark.parametrize(
    ("package", "path", "written"),
    [
        ("normcore.spec.tasks", ("task", "name"), {"task": {"name": "written_later"}}),
        (
            "normcore.spec.cells",
            ("model", "cell"),
            {"task": {"name": "permuted_digits"}, "model": {"cell": "written_later"}},
        ),
    ],
)
def test_spec_with_a_name_that_is_not_loaded_is_refused_with_the_repair(
    package: str, path: tuple[str, ...], written: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = sys.modules[package]
    monkeypatch.setattr(module, "__path__", [*module.__path__, str(tmp_path)])
    file = tmp_path / "written_later.py"
    file.write_text("")
    with pytest.raises(InvalidSpec) as caught:
        resolve(written)
    [error] = caught.value.errors
    assert error.loc == path
    assert error.msg == (
        f"unknown 'written_later'; {file} has it, but this process has not loaded it; restart the API and the workers"
    )


def test_module_without_a_class_of_its_name_is_no_class_that_waits_for_a_restart() -> None:
    assert "choose from" in refusal(METHODS, "method")


def test_refusal_of_a_plug_in_that_was_left_out_gives_the_reason(install: Install) -> None:
    registry = install(other="{module}:Good")
    with pytest.warns(UnusablePlugIn):
        assert "other" not in registry
    assert 'expected its field method: Literal["other"]' in refusal(registry, "other")


def test_unknown_name_of_10000_letters_is_refused() -> None:
    assert "choose from" in refusal(METHODS, "x" * 10_000)


def test_warning_gives_the_reason_on_one_line_with_the_class_of_the_error(install: Install) -> None:
    registry = install("raise RuntimeError('broken', '\\n', 'on import')", good="{module}:Good")
    with pytest.warns(UnusablePlugIn) as warned:
        assert "good" not in registry
    assert str(warned[0].message).endswith(r"is left out: RuntimeError: ('broken', '\n', 'on import')")


def test_unusable_class_leaves_other_classes_of_its_package_usable(install: Install) -> None:
    registry = install(homeless="{module}:Homeless", good="{module}:Good")
    with pytest.warns(UnusablePlugIn, match="homeless"):
        assert set(registry) == {*METHODS.ours, "good"}


def test_warning_about_an_unusable_plug_in_comes_once(install: Install, recwarn: pytest.WarningsRecorder) -> None:
    registry = install(homeless="{module}:Homeless")
    for _ in range(3):
        assert "homeless" not in registry
    assert len(recwarn.list) == 1


def test_registry_ignores_entry_points_of_other_groups(install: Install) -> None:
    install(good="{module}:Good")
    cells = Registry("cells", RecurrentModel, "normcore.spec.cells", tag="cell", implemented_in="normcore.cells")
    assert set(cells) == set(CELLS.ours)


@pytest.mark.parametrize(("imported", "warns"), [("import torch\n", True), ("", False)])
def test_package_whose_options_import_torch_is_named_in_a_warning(tmp_path: Path, imported: str, warns: bool) -> None:
    """The package is used, but torch is then loaded in the API process."""
    (tmp_path / "heavy.py").write_text(imported + OPTIONS % {"module": "json"})
    about = tmp_path / "heavy_methods-1.2.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: heavy-methods\nVersion: 1.2\n")
    (about / "entry_points.txt").write_text("[normbench.methods]\ngood = heavy:Good\n")
    program = "from normcore.spec.methods import METHODS; print('good' in METHODS)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stdout == "True\n"
    told = "normbench.methods: good of heavy-methods 1.2 imports torch with its options, so the API holds torch"
    assert done.stderr.count(told) == (1 if warns else 0)
    assert done.stderr.count("PlugInWithTorch") == (1 if warns else 0)


def test_inherited_class_variable_is_not_a_tag() -> None:
    """Otherwise all classes derived from a model would share its ``architecture`` and so its name."""

    class Wider(FeedForward):
        pass

    assert not MODELS._has_tag(Wider)
    assert MODELS._has_tag(FeedForward)
