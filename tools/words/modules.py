"""Faults of Python modules: in their names, and in the names, docstrings, comments and strings inside them."""

import ast
import io
import tokenize
from collections.abc import Iterator
from pathlib import Path

from tools.words.rules import Fault, faults_of_docstring, faults_of_texts, is_participle

EVENTS = {"errors.py", "events.py", "messages.py"}  # their classes say what happened
WITHOUT_PROSE = ("tests/", "migrations/")  # their strings are programs and statements


def faults_of_module(name: str, source: str) -> Iterator[Fault]:
    """Find the faults of a module with the path ``name``."""
    if is_participle(Path(name).stem.removeprefix("test_").strip("_").rpartition("_")[2]):
        yield Fault(name, 1, "a module's name is a noun, not a participle")
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and Path(name).name not in EVENTS and is_participle(node.name.strip("_")):
            yield Fault(name, node.lineno, f"the name of a class is a noun, not a participle: {node.name}")
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node) or ""
            yield from (Fault(name, node.body[0].lineno, advice) for advice in faults_of_docstring(text))
    yield from faults_of_texts(name, _comments(source))
    if not name.startswith(WITHOUT_PROSE):
        yield from faults_of_texts(name, _strings(tree))


def _comments(source: str) -> Iterator[tuple[int, str]]:
    """Yield the comments of a module, each with its first line. Comments that fill lines one after the other are one
    comment.
    """
    first, last, text = 0, 0, ""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        fills_line = token.line.lstrip().startswith("#")
        if fills_line and token.start[0] == last + 1:
            last, text = last + 1, f"{text} {token.string.lstrip('# ')}"
            continue
        yield first, text
        first, text = token.start[0], token.string.lstrip("# ")
        last = first if fills_line else 0
    yield first, text


def _strings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the strings of a module, each with its line. A value in an f-string counts as one word."""
    statements = (node for node in ast.walk(tree) if isinstance(node, ast.Expr))
    docstrings = {node.value for node in statements if isinstance(node.value, ast.Constant)}
    parts = {part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield node.lineno, "".join(_text_of(part) for part in node.values)
        elif isinstance(node, ast.Constant) and node not in parts and node not in docstrings:
            yield node.lineno, _text_of(node)


def _text_of(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else "value"
