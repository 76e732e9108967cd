"""Work that an API does before its first pages."""

import sys

from service.pages.preparation import LATE_IMPORTS, prepare_in_background, prepare_pages
from service.pages.rendering import templates


def test_prepared_pages_have_all_templates_compiled_and_all_modules_imported() -> None:
    templates.cache_clear()
    prepare_pages()
    compiled = templates().cache
    assert compiled is not None
    assert {name for _, name in compiled.keys()} == {*templates().list_templates(extensions=["html"])}  # noqa: SIM118
    assert sys.modules.keys() >= {*LATE_IMPORTS}


def test_pages_are_prepared_once_in_a_process() -> None:
    assert prepare_in_background() is prepare_in_background()
