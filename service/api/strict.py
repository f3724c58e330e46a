"""One strict decoder for every request body: JSON as RFC 8259 has it, and nothing looser."""

import json
import re
from collections.abc import Iterator
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from service.api.fields import Fields
from service.api.problems import Fault, malformed

__all__ = [
    "check",
    "check_content_type",
    "decode",
    "json_array",
    "json_object",
    "message_of",
    "steps",
]

Model = TypeVar("Model", bound=BaseModel)

_CONTENT_TYPE = re.compile(
    rb"[ \t]*application/json[ \t]*(?:;[ \t]*charset=\"?utf-8\"?[ \t]*)?", re.IGNORECASE
)


class _Ambiguous(dict[str, Any]):
    """An object that named the same key twice."""

    key = ""


def decode(model: type[Model], fields: Fields, body: bytes) -> tuple[Model, str]:
    """Validate a body against ``model``; also gives the body's own text, to be passed on.

    Raises:
        Problem: 400 ``malformed``, naming the fields.
    """
    check_content_type(fields)
    return _in_one_pass(model, body) or _step_by_step(model, body)


def _in_one_pass(model: type[Model], body: bytes) -> tuple[Model, str] | None:
    """What is plainly good, at a fraction of the cost; None for whatever is to be looked at closer.

    Where no string comes twice no key does. Strings with escapes are not compared: two that differ
    may mean the same.
    """
    strings = body.split(b'"')[1::2]
    if b"\\" in body or len(set(strings)) != len(strings):
        return None
    try:
        return model.__pydantic_validator__.validate_json(body), body.decode("utf-8")
    except ValidationError:  # pydantic reads no JSON that RFC 8259 has not, but names less well
        return None


def _step_by_step(model: type[Model], body: bytes) -> tuple[Model, str]:
    """The same by parser and model apart, which tell what is wrong and where."""
    text, value = json_object(body)
    return check(model, value), text


def check(model: type[Model], value: Any) -> Model:
    """Validate what was parsed; a key that came twice is refused too.

    Raises:
        Problem: 400 ``malformed``, naming the fields.
    """
    try:
        _refuse_ambiguous(value)
        return model.model_validate(value)
    except RecursionError:
        raise malformed([Fault("", "nested too deeply")]) from None
    except ValidationError as error:
        raise malformed(list(_faults(error, value))) from None


def check_content_type(fields: Fields) -> None:
    """Refuse a body that isn't declared to be JSON in UTF-8, exactly once."""
    declared = fields.get(b"content-type", b"")
    if declared == b"application/json":  # as nearly all say it
        return
    if not _CONTENT_TYPE.fullmatch(declared):
        raise malformed([Fault("header.content-type", "must be application/json")])


def json_object(body: bytes) -> tuple[str, dict[str, Any]]:
    """Parse a JSON object; gives its text too.

    Floats come out as floats, for the model to refuse where it can name the field.
    """
    text, value = _json(body)
    if not isinstance(value, dict):
        raise malformed([Fault("", "the body must be a JSON object")])
    return text, value


def json_array(body: bytes) -> list[Any]:
    """Parse a JSON array, as strictly."""
    _, value = _json(body)
    if not isinstance(value, list):
        raise malformed([Fault("", "the body must be a JSON array")])
    return value


def _json(body: bytes) -> tuple[str, Any]:
    if not body:
        raise malformed([Fault("", "the body is empty")])
    try:
        text = body.decode("utf-8")
        value = _parse(text)
    except UnicodeDecodeError:
        raise malformed([Fault("", "the body is not UTF-8")]) from None
    except json.JSONDecodeError as error:
        raise malformed([Fault("", f"not JSON: {_plain(error)}")]) from None
    except RecursionError:
        raise malformed([Fault("", "nested too deeply")]) from None
    return text, value


def _parse(text: str) -> Any:
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError:
        raise
    except ValueError:  # an integer of more digits than Python reads: for the model to refuse
        return _PATIENT_DECODER.decode(text)


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    return value if len(value) == len(pairs) else _ambiguous(pairs)


def _ambiguous(pairs: list[tuple[str, Any]]) -> _Ambiguous:
    value, seen = _Ambiguous(pairs), set[str]()
    for key, _ in pairs:
        if key in seen:
            value.key = key
            break
        seen.add(key)
    return value


_DECODER = json.JSONDecoder(object_pairs_hook=_pairs)
_PATIENT_DECODER = json.JSONDecoder(object_pairs_hook=_pairs, parse_int=float)


def _refuse_ambiguous(value: Any) -> None:
    for loc, found in _objects(value, ()):
        if isinstance(found, _Ambiguous):
            raise malformed([Fault(_join((*loc, found.key)), "appears twice")])


def _objects(value: Any, loc: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    if isinstance(value, dict):
        yield loc, value
        for key, inner in value.items():
            if isinstance(inner, (dict, list)):
                yield from _objects(inner, (*loc, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            if isinstance(inner, (dict, list)):
                yield from _objects(inner, (*loc, index))


def _plain(error: json.JSONDecodeError) -> str:
    return f"{error.msg[:1].lower()}{error.msg[1:]} at line {error.lineno} column {error.colno}"


def _faults(error: ValidationError, value: Any) -> Iterator[Fault]:
    for one in error.errors(include_url=False, include_input=False):
        named = one.get("ctx", {}).get("field")
        loc = one["loc"] if named is None else (*one["loc"], named)
        yield Fault(_path(loc, value), message_of(one["type"], one["msg"]))


_IN_OUR_WORDS = {
    "extra_forbidden": "unknown field",
    **dict.fromkeys(("model_type", "model_attributes_type", "dict_type"), "must be an object"),
}


def message_of(kind: str, message: str) -> str:
    """What is wrong, in our words where pydantic's are worse."""
    return _IN_OUR_WORDS.get(kind, message)


def _path(loc: tuple[str | int, ...], value: Any) -> str:
    return _join(steps(loc, value))


def steps(loc: tuple[str | int, ...], value: Any) -> tuple[str | int, ...]:
    """Where in a body an error of pydantic is, without its union tags and ``[key]``."""
    kept: list[str | int] = []
    for position, step in enumerate(loc):
        last = position == len(loc) - 1
        if step == "[key]" or (not last and _is_tag(step, loc[position + 1], value)):
            continue
        found, inner = _step(value, step)
        if not (found or last):
            continue
        kept.append(step)
        value = inner
    return tuple(kept)


def _is_tag(step: str | int, following: str | int, value: Any) -> bool:
    """A union's tag stands before the field, which may have its name."""
    return isinstance(value, dict) and value.get("kind") == step and following != "[key]"


def _step(value: Any, step: str | int) -> tuple[bool, Any]:
    if isinstance(value, dict) and step in value:
        return True, value[str(step)]
    if isinstance(value, list) and isinstance(step, int) and step < len(value):
        return True, value[step]
    return False, value


def _join(loc: tuple[str | int, ...]) -> str:
    return ".".join(str(step) for step in loc)
