"""A YAML file as plain data that remembers the line of every key: YAML 1.2's core schema.

The tree is built from PyYAML's events without recursion and within limits. A file that is nested
too deeply or expands too many aliases causes an error with its line and key.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from yaml.nodes import ScalarNode
from yamlcore import CoreLoader

from netlimits.errors import DocumentError, one_line, raise_all

BYTE_LIMIT = 1024 * 1024
NODE_LIMIT = 100_000
"""Maximum number of values with all aliases expanded (protects against a billion-laughs file)."""
DEPTH_LIMIT = 40

EMPTY = "is empty; write at least one key"

KeyPath = tuple[str | int, ...]
Data = Any
"""A value of YAML's core schema: dict with text keys, list, str, int, float, bool, None."""

_CORE = {f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null")}
_COLLECTIONS: dict[str | None, type] = {
    "tag:yaml.org,2002:seq": list,
    "tag:yaml.org,2002:map": dict,
}


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed YAML file: `data`, and in `lines` the line (from 1) of every key and item."""

    path: Path
    text: str
    data: Data
    lines: Mapping[KeyPath, int]
    repeated: tuple[DocumentError, ...] = ()
    """An error for each duplicate key; `data` holds its last value."""
    replaced: tuple[Data, ...] = ()
    """The earlier values of duplicate keys."""

    def line(self, key: Sequence[str | int] = ()) -> int:
        """Return the line of a key (`("roles", 0)`), or of the nearest key above it."""
        path = tuple(key)
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)

    def error(self, problem: str, *key: str | int) -> DocumentError:
        return DocumentError(problem, path=self.path, line=self.line(key), key=dotted(key))


def dotted(key: Sequence[str | int]) -> str:
    """Return a key as errors show it and `--set` takes it: `settings.0.offload.tso`."""
    return ".".join(str(part) for part in key)


def load(path: Path | str, *, repeated: bool = False) -> Document:
    """Load the document in a file. Raises DocumentError if it is invalid or cannot be read.

    With `repeated`, errors for duplicate keys are stored in `Document.repeated` and not raised.
    """
    path = Path(path)
    try:
        if path.is_dir():
            raise DocumentError("is a directory, not a YAML file", path=path)
        # a file of size 0 is not read: reading /proc/kmsg would block
        if path.is_file() and not path.stat().st_size:
            raise DocumentError(EMPTY, path=path, line=1)
        # opening a named pipe must not wait for a writer; the pipe of <(…) already has a writer
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        os.set_blocking(number, True)
        with os.fdopen(number, "rb") as file:
            content = file.read(BYTE_LIMIT + 1)
    except FileNotFoundError:
        raise DocumentError("there is no such file", path=path) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DocumentError(f"cannot be read: {reason}", path=path) from None
    if len(content) > BYTE_LIMIT:
        raise DocumentError(f"is larger than {BYTE_LIMIT // 1024} KiB", path=path)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DocumentError("is not UTF-8 text; save it as UTF-8", path=path, line=line) from None
    return parse(text, path, repeated=repeated)


def parse(text: str, path: Path | str, *, repeated: bool = False) -> Document:
    """Parse a YAML text; `path` names it in errors. Raises DocumentError like `load`."""
    path = Path(path)
    builder = _Builder(path)
    root = builder.build(text)
    if not repeated:
        raise_all(builder.repeated)
    if root is None or root.value is None:
        raise DocumentError(EMPTY, path=path, line=1)
    lines: dict[KeyPath, int] = {(): root.line}
    replaced = tuple(_plain(node, (), {}) for node in builder.replaced)
    return Document(path, text, _plain(root, (), lines), lines, tuple(builder.repeated), replaced)


def value(text: str, path: Path | str) -> Data:
    """Parse the value of a `--set KEY=VALUE` as YAML; an empty text is null."""
    builder = _Builder(Path(path))
    root = builder.build(text)
    raise_all(builder.repeated)
    return None if root is None else _plain(root, (), {})


@dataclass(slots=True)
class _Node:
    """A value with its line; `items` maps a collection's keys or indices to its children."""

    value: Any
    line: int
    kind: type = str
    items: dict[str | int, _Node] = field(default_factory=dict)
    key_lines: dict[str | int, int] = field(default_factory=dict)
    size: int = 1
    height: int = 1
    closed: bool = True
    waiting: str | None = None
    """In a mapping, the key whose value comes next."""


def _plain(node: _Node, here: KeyPath, lines: dict[KeyPath, int]) -> Data:
    """Return the node as plain data, and add its keys to `lines`. DEPTH_LIMIT bounds recursion."""
    if node.kind is str:
        return node.value
    lines.update({(*here, key): line for key, line in node.key_lines.items()})
    pairs = {key: _plain(child, (*here, key), lines) for key, child in node.items.items()}
    return pairs if node.kind is dict else list(pairs.values())


class _Builder:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.root: _Node | None = None
        self.open: list[_Node] = []
        self.anchors: dict[str, _Node] = {}
        self.repeated: list[DocumentError] = []
        self.replaced: list[_Node] = []
        self.total = 0
        self.documents = 0

    def build(self, text: str) -> _Node | None:
        try:
            loader = CoreLoader(text)
            while loader.check_event():
                self.take(loader.get_event(), loader)
        except yaml.reader.ReaderError as error:
            # `position` counts characters, since the text has already been decoded
            line = text.count("\n", 0, error.position) + 1
            code_point = (
                ord(error.character) if isinstance(error.character, str) else error.character
            )
            raise self.error(
                f"has a control character (0x{code_point:02x}); remove it", line
            ) from None
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            if _is_quote(error):
                mark = error.context_mark
            raise self.error(_syntax(error), mark.line + 1 if mark else 1) from None
        except (ValueError, OverflowError):  # chr() rejects an escape past the last code point
            raise self.error("not YAML: an escape such as \\U… names no character", 1) from None
        return self.root

    def error(self, problem: str, line: int, *more: str | int) -> DocumentError:
        key = [
            node.waiting if node.kind is dict else len(node.items) - (node is not self.open[-1])
            for node in self.open
        ]
        path = [part for part in (*key, *more) if part is not None]
        key_text = dotted(path if len(path) <= 8 else [*path[:8], "…"])
        return DocumentError(problem, path=self.path, line=line, key=key_text, steps=tuple(path))

    def take(self, event: Any, loader: Any) -> None:
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.DocumentStartEvent):
            self.documents += 1
            if self.documents > 1:
                raise self.error("a second document starts here (`---`); keep one a file", line)
        elif isinstance(event, yaml.AliasEvent):
            node = self.anchors.get(event.anchor or "")
            if node is None:
                raise self.error(f"*{event.anchor} is used before any &{event.anchor}", line)
            if not node.closed:
                raise self.error(f"*{event.anchor} stands inside itself", line)
            self.add(node, line)
        elif isinstance(event, yaml.ScalarEvent):
            self.add(self.anchored(self.scalar(event, loader, line), event), line, event)
        elif isinstance(event, yaml.CollectionStartEvent):
            kind = list if isinstance(event, yaml.SequenceStartEvent) else dict
            if event.tag not in (None, "!") and _COLLECTIONS.get(event.tag) is not kind:
                raise self.error(_tag(event.tag), line)
            node = self.anchored(_Node((), line, kind, closed=False), event)
            self.add(node, line)
            self.open.append(node)
        elif isinstance(event, yaml.CollectionEndEvent):
            self.close()

    def anchored(self, node: _Node, event: Any) -> _Node:
        if event.anchor:
            self.anchors[event.anchor] = node
        return node

    def scalar(self, event: Any, loader: Any, line: int) -> _Node:
        tag = "tag:yaml.org,2002:str" if event.tag == "!" else event.tag
        if tag is None:
            tag = loader.resolve(ScalarNode, event.value, event.implicit)
        if tag not in _CORE:
            raise self.error(_tag(tag), line)
        try:
            content = loader.construct_object(ScalarNode(tag, event.value), deep=True)
        except (ValueError, KeyError, IndexError):
            kind = tag.rpartition(":")[2]
            raise self.error(f"{event.value[:40]!r} cannot be read as {kind}", line) from None
        if isinstance(content, float) and not math.isfinite(content):
            raise self.error(f"{event.value[:40]} is not a finite number", line)
        if isinstance(content, str):
            if "\0" in content:
                raise self.error("holds a NUL character", line)
            try:
                content.encode()
            except UnicodeEncodeError:
                raise self.error("holds half of a surrogate pair, which is no text", line) from None
        return _Node(content, line)

    def add(self, node: _Node, line: int, event: Any = None) -> None:
        """Add a node to the innermost open collection. The node of an alias is already complete."""
        self.total += node.size
        if self.total > NODE_LIMIT:
            raise self.error(f"more than {NODE_LIMIT:,} values once aliases are written out", line)
        if len(self.open) + node.height > DEPTH_LIMIT:
            raise self.error(f"nested more than {DEPTH_LIMIT} deep", line)
        if not self.open:
            self.root = node
            return
        parent = self.open[-1]
        if parent.kind is list:
            index = len(parent.items)
            parent.items[index] = node
            parent.key_lines[index] = line
        elif parent.waiting is None:
            parent.waiting = self.key(node, line, parent, event)
        else:
            parent.items[parent.waiting] = node
            if node.closed:
                parent.waiting = None

    def key(self, node: _Node, line: int, parent: _Node, event: Any) -> str:
        if node.kind is not str:
            raise self.error("a key must be text, not a list or a mapping", line)
        if not isinstance(node.value, str):
            written = event.value if event is not None else node.value
            raise self.error(f'the key {written} is not text; quote it: "{written}"', line)
        if node.value == "<<" and event is not None and event.implicit[0]:
            raise self.error("merge keys (<<) are not YAML 1.2; write the keys out", line)
        if node.value in parent.items:
            other = parent.key_lines[node.value]
            problem = f"is there twice; line {other} has it too: remove one"
            self.repeated.append(self.error(problem, line, node.value))
            self.replaced.append(parent.items[node.value])
        parent.key_lines[node.value] = line
        return node.value

    def close(self) -> None:
        node = self.open.pop()
        node.closed = True
        children = node.items.values()
        node.size = 1 + sum(child.size for child in children)
        node.height = 1 + max((child.height for child in children), default=0)
        if self.open:
            self.open[-1].waiting = None


def _tag(tag: str) -> str:
    short = tag.replace("tag:yaml.org,2002:", "!!")
    return f"the tag {short} is not allowed; write plain values"


def _is_quote(error: yaml.MarkedYAMLError) -> bool:
    """Return True for a quote that nothing closes."""
    return "quoted scalar" in (error.context or "") and "end of stream" in (error.problem or "")


def _syntax(error: yaml.MarkedYAMLError) -> str:
    """Return PyYAML's error message on one line, reworded where it is hard to understand."""
    problem = error.problem or error.context or "cannot be read"
    if _is_quote(error):
        return "not YAML: this line opens a quote that nothing closes"
    if "'\\t'" in problem:
        return "not YAML: there is a tab; use spaces"
    if problem.startswith("expected <block end>"):
        return "not YAML: this line does not fit the ones above; check the indentation and quotes"
    problem = problem.replace("'<stream end>'", "the end of the file")
    context = error.context or ""
    for kind, name in (("flow sequence", "list"), ("flow mapping", "mapping")):
        if context.endswith(kind) and error.context_mark:
            context = f"in the {name} that begins in line {error.context_mark.line + 1}"
    return f"not YAML: {one_line(f'{problem} {context}')}"
