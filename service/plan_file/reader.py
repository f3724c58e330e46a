"""YAML with the line of every value, and without what YAML guesses.

Plain scalars are what YAML 1.2's core schema says, and nothing more: ``null``, ``true``, whole
numbers (``500_000_000`` too), numbers with a fraction; ``no``, ``0100``, ``12:30`` and dates are
text. A key that comes twice, a value that is left empty, a merge key and a tag are faults.
"""

import re
from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from service.plan_file.faults import FileFault, PlanFileError
from service.text import HALF_A_PAIR, is_text

__all__ = ["Path", "Source", "dotted", "read"]

Path = tuple[str | int, ...]

DEEPEST = 16
MOST_VALUES = 1_000_000

_WHOLE = re.compile(r"[-+]?(?:0|[1-9][0-9]*|[1-9][0-9]{0,2}(?:_[0-9]{3})+)")
_FRACTION = re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?")
_WORDS = {"null": None, "~": None, "true": True, "false": False}
_HALF = f"has {HALF_A_PAIR}, which is no character"
_TAGS = {f"tag:yaml.org,2002:{kind}" for kind in ("str", "map", "seq")}


@dataclass
class Source:
    """What a file says, the line of every path in it, and what is wrong with it as YAML."""

    value: Any = None
    lines: dict[Path, int] = field(default_factory=dict)
    faults: list[FileFault] = field(default_factory=list)

    def line(self, path: Path) -> int:
        """The line of a path, or of the nearest thing around it that is in the file."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)

    def fault(self, path: Path, message: str) -> FileFault:
        """A fault at a path."""
        return FileFault(self.line(path), dotted(path, self.value), message)


def dotted(path: Path, value: Any) -> str:
    """A path as people write it: an item of a list goes by its name, if it has one."""
    steps = []
    for step in path:
        value = _inner(value, step)
        named = (
            isinstance(step, int) and isinstance(value, dict) and isinstance(value.get("name"), str)
        )
        steps.append(str(value["name"] if named else step))
    return ".".join(steps)


def _inner(value: Any, step: str | int) -> Any:
    if isinstance(value, dict):
        return value.get(step)
    if isinstance(value, list) and isinstance(step, int) and step < len(value):
        return value[step]
    return None


class _Loader(yaml.SafeLoader):
    """Composes nodes; what a plain scalar stands for is decided here, not guessed there."""


_Loader.yaml_implicit_resolvers = {}


def read(text: str) -> Source:
    """Read a file's text.

    Raises:
        PlanFileError: it is no YAML.
    """
    loader = None
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise PlanFileError([FileFault(line, "", f"not YAML: {error.problem}")]) from None
    except yaml.YAMLError as error:
        raise PlanFileError([FileFault(1, "", f"not YAML: {error}")]) from None
    except RecursionError:
        raise PlanFileError([FileFault(1, "", "nested too deeply")]) from None
    except (ValueError, OverflowError):  # what PyYAML lets through of "\Uffffffff"
        line = loader.line + 1 if loader else 1
        message = "not YAML: an escape that is no character"
        raise PlanFileError([FileFault(line, "", message)]) from None
    source = Source()
    if root is None:
        source.faults.append(FileFault(1, "", "the file is empty"))
    else:
        source.value = _Reader(source).value(root, ())
    return source


class _Reader:
    """One walk over the nodes."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._left = MOST_VALUES

    def value(self, node: Node, path: Path) -> Any:
        self._source.lines.setdefault(path, node.start_mark.line + 1)
        self._left -= 1
        if len(path) > DEEPEST or self._left < 0:
            raise PlanFileError([_at(node, path, "nested too deeply, or aliased too often")])
        if node.tag not in _TAGS:
            return self._fault(node, path, f"has the tag {node.tag}, and tags are not read")
        if isinstance(node, MappingNode):
            return self._mapping(node, path)
        if isinstance(node, SequenceNode):
            return [self.value(item, (*path, place)) for place, item in enumerate(node.value)]
        return self._scalar(node, path) if isinstance(node, ScalarNode) else None

    def _mapping(self, node: MappingNode, path: Path) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, inner in node.value:
            if not isinstance(key, ScalarNode) or key.tag not in _TAGS:
                self._fault(key, path, "has a key that is no text")
            elif not is_text(key.value):
                self._fault(key, path, f"a key {_HALF}")
            elif key.value == "<<" and key.style is None:
                self._fault(
                    key, path, "has a merge key (<<): an alias stands for a whole value only"
                )
            elif key.value in found:
                first = self._source.lines[*path, key.value]
                self._fault(key, (*path, key.value), f"appears twice, in line {first} too")
            else:
                self._source.lines[*path, key.value] = key.start_mark.line + 1
                found[key.value] = self.value(inner, (*path, key.value))
        return found

    def _scalar(self, node: ScalarNode, path: Path) -> Any:
        text: str = node.value
        if not is_text(text):
            return self._fault(node, path, _HALF)
        if node.style is not None:
            return text
        if not text:
            return self._fault(node, path, "has no value: write null if that is meant")
        if text in _WORDS:
            return _WORDS[text]
        if _WHOLE.fullmatch(text):
            return self._whole(node, path)
        return float(text) if _FRACTION.fullmatch(text) else text

    def _whole(self, node: ScalarNode, path: Path) -> int | None:
        try:
            return int(node.value)
        except ValueError:  # more digits than Python reads
            self._fault(node, path, "is a number of too many digits")
            return None

    def _fault(self, node: Node, path: Path, message: str) -> None:
        self._source.faults.append(_at(node, path, message))


def _at(node: Node, path: Path, message: str) -> FileFault:
    return FileFault(node.start_mark.line + 1, ".".join(map(str, path)), message)
