"""Answers of a newer service are read; requests with keys that are not known are refused."""

from collections.abc import Iterator
from enum import Enum
from importlib import import_module
from pkgutil import iter_modules
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import pytest
from pydantic import BaseModel, GetPydanticSchema, ValidationError

from contract import service
from contract.service.bases import Answer, Request
from contract.service.snoozes import NewSnooze
from contract.service.webhooks import DeliveryView


def models() -> dict[str, type[BaseModel]]:
    """Return all models of requests and answers."""
    modules = [
        import_module(f"{service.__name__}.{each.name}") for each in iter_modules(service.__path__)
    ]
    return {
        f"{module.__name__}.{name}": each
        for module in modules
        for name, each in vars(module).items()
        if isinstance(each, type)
        and issubclass(each, BaseModel)
        and each.__module__ == module.__name__
    }


def closed(hint: Any) -> Iterator[Any]:
    """Yield the parts of a type that take some texts and no others."""
    if get_origin(hint) is Annotated and any(
        isinstance(each, GetPydanticSchema) for each in hint.__metadata__
    ):
        return
    if get_origin(hint) is Literal or (isinstance(hint, type) and issubclass(hint, Enum)):
        yield hint
    for part in () if get_origin(hint) is Literal else get_args(hint):
        yield from closed(part)


def test_requests_are_strict_and_answers_have_no_text_that_a_newer_service_could_not_have() -> None:
    for name, each in models().items():
        wanted = "ignore" if issubclass(each, Answer) else "forbid"
        assert issubclass(each, Answer | Request), name
        assert each.model_config.get("extra") == wanted, name
    for name, each in models().items():
        hints = get_type_hints(each, include_extras=True) if issubclass(each, Answer) else {}
        for field in each.model_fields.keys() & hints.keys():
            assert list(closed(hints[field])) == [], (name, field)


def test_what_is_newer_is_read_and_written_as_it_is() -> None:
    told = {"number": 1, "message_id": "msg", "event": "webhook.test", "state": "postponed"}
    told |= {"attempts": 0, "created_at": 0, "error": "", "body": "{}"}
    told |= dict.fromkeys(("next_attempt_at", "ended_at", "status"))
    assert DeliveryView.model_validate({**told, "newer": 1}).model_dump() == told
    with pytest.raises(ValidationError, match="newer"):
        NewSnooze.model_validate({"newer": 1})
