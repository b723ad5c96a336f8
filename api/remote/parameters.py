"""`percept set`: parameters of a rule get other values, which is a new version of it.

limit=120 ──► the type that the rule declares ──► PATCH …/parameters
"""

import json
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from api.client import Client, Invalid, Processor
from api.connected import end, service_command
from api.remote.changing import Comment, DryRun
from api.remote.known_rules import as_it_was_read, rules_named
from api.remote.printing import say
from cep.definition.parameters import ParametersRefused, with_values

_MOST_SHOWN = 10
_TEXT_TYPES = ("STRING", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "INTERVAL", "DECIMAL")


@service_command
def set_parameters(
    client: Client,
    rule: Annotated[str, typer.Argument(metavar="RULE", help="Its id.")],
    values: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME=VALUE…", help="Parameters and their new values."),
    ] = None,
    *,
    comment: Comment = "",
    dry_run: DryRun = False,
) -> None:
    """Give parameters of a rule other values: a new version, with its pattern left alone.

    Without NAME=VALUE the parameters are listed. `percept set large-payment limit=120`; a list is
    written as JSON: `'countries=["FR", "DE"]'`.
    """
    given = _given(values or [])
    (processor,) = rules_named(client, [rule])
    pattern = processor.document["pattern"]
    declared = pattern.get("parameters") or {}
    if not given:
        _list(rule, declared)
        return
    wanted = {name: _read(text, declared.get(name, {})) for name, text in given.items()}
    try:
        changed = with_values(pattern, wanted)["parameters"]
    except ParametersRefused as refused:
        end(str(refused))
    for name in wanted:
        say(f"{rule}: {name} {_shown(declared[name])} → {_shown(changed[name])}")
    if dry_run:
        say(f"{rule}: nothing is changed; it is {processor.state}, version {processor.version}")
        return
    _set(client, processor, wanted, comment)


def _set(client: Client, seen: Processor, values: Mapping[str, Any], comment: str) -> None:
    rule = seen.id
    try:
        with as_it_was_read(rule):
            changed = client.set_parameters(rule, values, if_match=seen.etag, comment=comment)
    except Invalid as refused:
        end("\n".join(f"{flaw.pointer}: {flaw.detail} {flaw.remedy}" for flaw in refused.flaws))
    if changed.version == seen.version:
        say(f"{rule}: nothing to do, version {seen.version} has these values")
    else:
        say(f"{rule}: version {changed.version}")
    for number in changed.withdrawn:
        say(f"{rule}: version {number}, which has a schedule, is withdrawn")


def _given(values: list[str]) -> dict[str, str]:
    given = {}
    for value in values:
        name, equals, text = value.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"'{value}' is not NAME=VALUE")
        if name in given:
            raise typer.BadParameter(f"{name} is given twice")
        given[name] = text
    return given


def _read(text: str, declared: Mapping[str, Any]) -> Any:
    """Return a value of the command line as JSON has it, by the declared type."""
    declared_type = str(declared.get("type", ""))
    if declared_type.startswith(_TEXT_TYPES):
        return text
    try:
        value = json.loads(text)
    except ValueError:
        return text
    is_list = declared_type.startswith("ARRAY")
    return value if isinstance(value, list if is_list else bool | int | float) else text


def _list(rule: str, declared: Mapping[str, Any]) -> None:
    if not declared:
        say(f"{rule} has no parameters")
    for name, parameter in declared.items():
        bounds = [f"{key} {parameter[key]}" for key in ("min", "max") if key in parameter]
        if "values" in parameter:
            bounds.append(f"one of {', '.join(map(str, parameter['values'][:20]))}")
        about = [parameter["type"], *bounds, parameter.get("description", "")]
        say(f"{name} = {_shown(parameter)}  ({'; '.join(filter(None, about))})")


def _shown(parameter: Mapping[str, Any]) -> str:
    value = parameter["value"]
    if not isinstance(value, list):
        return str(value)
    more = f" … {len(value)} values" if len(value) > _MOST_SHOWN else ""
    return json.dumps(value[:_MOST_SHOWN], ensure_ascii=False) + more
