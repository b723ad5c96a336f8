"""The shape of a document: what pydantic found wrong with it, and what is left of it without that.

    document ──► PatternDocument ──► tree
                      │ refused
                      ├──► problems of shape
                      └──► remainder ──► a tree in which all other problems are looked for

The remainder is never run. It is there so that a misspelt key of one step does not hide an unknown
column in the condition of another.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from cep.pattern.document.schema import (
    FORM_TAGS,
    AllOfDocument,
    AnyOfDocument,
    GroupDocument,
    PatternDocument,
    PythonDocument,
    SequenceDocument,
    SkipDocument,
    StepDocument,
    SubtypeDocument,
    TimesRangeDocument,
)
from cep.pattern.parameters import ParameterDocument
from cep.pattern.problems import Problem, did_you_mean, path_of, shape_problem
from cep.signing.code import SignedCode

_MODELS: Final[Mapping[str, type[BaseModel]]] = {
    "<step>": StepDocument,
    "<group>": GroupDocument,
    "<range>": TimesRangeDocument,
    "<field>": SubtypeDocument,
    "<python>": PythonDocument,
    "<all_of>": AllOfDocument,
    "<any_of>": AnyOfDocument,
    "python": SignedCode,
    "group": SequenceDocument,
    "after_match_skip": SkipDocument,
}
_KEYS: Final = {model.__name__: list(model.model_fields) for model in _MODELS.values()}
_TOO_DEEP: Final = frozenset({"recursion_loop", "recursion_depth_exceeded"})

Location = tuple[int | str, ...]


def pattern_shape_problem(details: ErrorDetails) -> Problem:
    """Return the problem that a pydantic error about a pattern document describes."""
    location = _written(details["loc"])
    problem = shape_problem(details, path_of(location))
    match details["type"]:
        case "extra_forbidden":
            return _unknown_key(problem.path, str(location[-1]), _model_at(details["loc"]))
        case "too_short":
            remedy = "Add a step." if location[-1] == "steps" else "Add one."
            return Problem(problem.path, "empty.", remedy)
        case kind if kind in _TOO_DEEP:
            return Problem("", "nested too deeply.", "Use fewer groups in groups.")
        case _:
            remedy = _remedy(details, location) or problem.remedy
            return Problem(problem.path, problem.message, remedy)


def _remedy(details: ErrorDetails, location: Location) -> str:
    """Return what to write at a place where people write something else; "" for all others."""
    match details["type"]:
        case "int_parsing" | "int_type" | "int_from_float" if location[-1] == "times":
            remedy = "Write a whole number, or {from: 5, to: null} for 5 or more."
        case "string_type" if location[-1] == "where":
            remedy = "Write one text: x = 1 AND y = 2."
        case "enum" if contiguity := _CONTIGUITIES.get(str(details["input"]).lower()):
            remedy = f"Write {contiguity}."
        case "model_type" if location == ("after_match_skip",):
            remedy = "Write {strategy: skip_past_last_event}, or another strategy."
        case "model_type" if not location and isinstance(details["input"], str):
            remedy = _TEXT if "\n" in details["input"] or ":" in details["input"] else _PATH
        case "list_type" | "model_type" if location in {(), ("steps",)}:
            remedy = "Write `steps:` and below it a list, an item `- name: a` for each step."
        case "model_type" if details["ctx"]["class_name"] in _KEYS:
            remedy = f"Write a mapping of {', '.join(_KEYS[details['ctx']['class_name']])}."
        case _:
            remedy = ""
    return remedy


@dataclass(frozen=True, slots=True)
class Remainder:
    """A document without what is wrong with its shape.

    `touched` holds the paths of the elements that something was taken out of, "" for the pattern
    itself; `stand_ins` the names given to steps whose own could not be read.
    """

    document: PatternDocument
    touched: frozenset[str]
    stand_ins: frozenset[str]


def remainder(data: Any, error: ValidationError) -> Remainder | None:
    """Return what is left of a document of the wrong shape; `None` if nothing can be made of it.

    The document itself stays as it is.
    """
    found = error.errors(include_url=False, include_input=False)
    if not isinstance(data, Mapping) or any(details["type"] in _TOO_DEEP for details in found):
        return None
    pruning = _Pruning(data)
    # Unknown keys first: what is around them must still be there.
    for details in sorted(found, key=lambda details: details["type"] != "extra_forbidden"):
        if not pruning.take_out(_written(details["loc"]), details["type"]):
            return None
    try:
        document = PatternDocument.model_validate(pruning.data)
    except ValidationError:
        return None
    return Remainder(document, frozenset(pruning.touched), frozenset(pruning.stand_ins))


class _Pruning:
    """Takes what is wrong out of a document, copying only what is changed."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = dict(data)
        self.touched: set[str] = set()
        self.stand_ins: set[str] = set()
        self._own = {id(self.data)}

    def take_out(self, location: Location, kind: str) -> bool:
        """Take out what is wrong at a location; return whether the rest can be looked at."""
        element, rest = _split(location)
        self.touched.add(path_of(element))
        if kind == "extra_forbidden":
            holder, key = self._holder(location[:-1]), location[-1]
        elif rest and rest[0] not in {"name", "group", "steps"}:
            holder, key = self._holder(element), rest[0]
        else:
            return self._put_stand_in(element)
        if isinstance(holder, dict):
            holder.pop(key, None)
        return isinstance(holder, dict)

    def _put_stand_in(self, element: Location) -> bool:
        """Make the element a step with a name of its own, its other keys kept."""
        sequence = self._holder(element[:-1])
        if not element or not isinstance(sequence, list):
            return False
        written = sequence[int(element[-1])]
        kept = dict(written) if isinstance(written, Mapping) else {}
        kept.pop("group", None)
        name = f"\0{len(self.stand_ins)}"  # no name that people write
        self.stand_ins.add(name)
        sequence[int(element[-1])] = kept | {"name": name}
        return True

    def _holder(self, location: Location) -> Any:
        """Return the mapping or list at a location, copied on the way; `None` if there is none."""
        holder: Any = self.data
        for key in location:
            try:
                child = holder[key]
            except (LookupError, TypeError):
                return None
            if not isinstance(child, Mapping | list):
                return None
            if id(child) not in self._own:
                child = list(child) if isinstance(child, list) else dict(child)
                self._own.add(id(child))
                holder[key] = child
            holder = child
        return holder


def _split(location: Location) -> tuple[Location, Location]:
    """Return the location of the innermost element around a location, and the way from there."""
    items = (
        index
        for index, key in enumerate(location)
        if isinstance(key, int) and location[index - 1] == "steps"
    )
    end = max(items, default=-1) + 1
    return location[:end], location[end:]


def _written(location: Location) -> Location:
    return tuple(key for key in location if key not in FORM_TAGS)


def _model_at(location: Location) -> type[BaseModel]:
    """Return the model of the mapping in which the last key of a location was found."""
    if location[0] == "parameters":
        return ParameterDocument
    keys = (key for key in reversed(location[:-1]) if isinstance(key, str))
    models = (_MODELS[key] for key in keys if key in _MODELS)
    return next(models, PatternDocument)


_TEXT: Final = "Read a text by Pattern.from_yaml(text)."
_PATH: Final = "Give what a file holds, beginning with `steps:`, and not its path."
_CONTIGUITIES: Final = {
    **dict.fromkeys(("strict", "consecutive", "immediately", "followed_immediately"), "next"),
    **dict.fromkeys(("relaxed", "skip_till_next", "skip_till_next_match"), "followed_by"),
    **dict.fromkeys(
        ("any", "skip_till_any", "skip_till_any_match", "non_deterministic", "nondeterministic"),
        "followed_by_any",
    ),
    **dict.fromkeys(("not", "never", "not_followed"), "not_followed_by or not_next"),
}
"""What other languages call contiguity, in small letters."""
_OTHER_KEYS: Final = {
    **dict.fromkeys(("min", "minimum", "at_least"), "Write {from: 5, to: null} for 5 or more."),
    **dict.fromkeys(("max", "maximum", "at_most"), "Write {from: 0, to: 5} for 5 or fewer."),
    **dict.fromkeys(
        ("not", "negated", "absent", "never"), "Write `contiguity: not_followed_by`, or `not_next`."
    ),
    **dict.fromkeys(
        ("follows", "next", "followed_by", "followedby", "relation", "after", "type", "strategy"),
        "Write `contiguity: next`, `followed_by` or `followed_by_any`.",
    ),
    **dict.fromkeys(("condition", "conditions", "filter", "when", "if"), "Write `where`."),
    **dict.fromkeys(
        ("window", "timeout", "maxspan", "timeframe", "timespan", "time_window", "duration"),
        "Write `within: 10 minutes`.",
    ),
    **dict.fromkeys(("count", "repeat", "quantifier", "occurrences"), "Write `times`."),
    **dict.fromkeys(
        ("one_or_more", "oneormore", "plus"), "Write `times: {from: 1, to: null}` for one or more."
    ),
    **dict.fromkeys(
        (
            *("id", "key", "key_by", "keyby", "group_by", "groupby", "partition_by", "by"),
            *("stream", "select", "severity", "tags", "examples"),
        ),
        "A rule has this beside its pattern, not in it.",
    ),
    **dict.fromkeys(("order_by", "event_time_column", "schema"), "A stream has this."),
    **dict.fromkeys(
        ("sql", "query", "match_recognise"), "Write `match_recognize`, with the clause as text."
    ),
    **dict.fromkeys(("sequence", "events", "states", "stages"), "Write `steps`."),
    "pattern": "A rule has this, with id and stream; a pattern begins with `steps`.",
    **dict.fromkeys(("skip", "skip_strategy"), "Write `after_match_skip` on the pattern."),
    "or": "Write OR in `where`.",
    "and": "Write AND in `where`.",
}
"""What to write for keys that other languages have, in small letters."""


def _unknown_key(path: str, key: str, model: type[BaseModel]) -> Problem:
    if model is GroupDocument and key in {"name", "where", "subtype"}:
        return Problem(path, f"a group has no {key}.", "Put it on a step in the group.")
    if model is StepDocument and key in {"id", "step", "label"}:
        return Problem(path, "unknown key.", "Write `name`.")
    if model is StepDocument and key in {"steps", "sequence"}:
        return Problem(path, "unknown key.", "Steps in a step are `group: {steps: [...]}`.")
    if remedy := _OTHER_KEYS.get(key.replace("-", "_").lower()):
        return Problem(path, "unknown key.", remedy)
    known = [field.alias or name for name, field in model.model_fields.items()]
    return Problem(path, "unknown key.", did_you_mean(key, known))
