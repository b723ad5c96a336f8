"""docs/rule-keys.md, written from the models of documents: every key that a file of rules may have.

    models of rules, streams and lists ──► JSON Schema ──► a table for each object

`python docs/rule_keys.py` writes what stands below the beginning of the page, which is written by
hand. The page is kept beside the others, to be read as they are; a test compares it.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from textwrap import fill
from typing import Any, Final

import yaml
from pydantic import BaseModel

ROOT: Final = Path(__file__).parents[1]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from cep.definition.document import ProcessorFile  # noqa: E402
from cep.definition.list_documents import ListFile  # noqa: E402
from contract.service.streams import StreamDocument  # noqa: E402

Schema = Mapping[str, Any]

DOCUMENTS: Final[Mapping[str, type[BaseModel]]] = {
    "Rule": ProcessorFile,
    "Stream": StreamDocument,
    "List": ListFile,
}
TITLES: Final = {
    "PatternDocument": "Pattern",
    "StepDocument": "Step",
    "GroupDocument": "Group",
    "SkipDocument": "After a match",
    "RowPatternDocument": "Row pattern",
    "ParameterDocument": "Parameter",
    "ProcessorAlert": "Alert",
    "AlertSuppression": "Suppression",
    "AlertGroup": "Group of matches",
    "AlertBudget": "Budget",
    "ProcessorLimits": "Limits",
    "Example": "Example",
}
"""The headings of objects within a rule, in the order of the page."""
SAME_KEYS: Final = {"GroupDocument": "StepDocument", "StepDocument": "PatternDocument"}
"""Objects of which only those keys are shown that the other one does not have."""
SAID: Final = {
    "PatternDocument",
    "StepDocument",
    "ParameterDocument",
    "ProcessorAlert",
    "SkipDocument",
}
"""Objects that need no sentence: the key that leads to them says it."""
IN_A_WORD: Final = {
    "PythonDocument": "condition",
    "AllOfDocument": "condition",
    "AnyOfDocument": "condition",
    "SignedCode": "[signed code](client.md#keys)",
    "CodePlace": "text",
    "SequenceDocument": "`{steps: […]}`",
    "TimesRangeDocument": "`{from: …, to: …}`, where `to: null` means without end",
    "SubtypeDocument": "`{field: …, name: …}`",
}
"""Objects without a table: a few words say their keys, or nobody writes them by hand."""
WORDS: Final = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "boolean",
    "object": "object",
}
SHORTER: Final = {
    "text or condition or condition or condition": "condition",
    "boolean or number or text": "constant",
    "time with zone (ISO 8601) or whole number (milliseconds since 1970)": "time",
    "text or whole number": "duration",
}
"""Types that the beginning of the page gives a name."""
PAGE: Final = ROOT / "docs/rule-keys.md"


def page() -> str:
    """Return the whole page, with the beginning that it has."""
    beginning, _, _ = PAGE.read_text(encoding="utf-8").partition("\n## Rule\n")
    parts = [beginning.rstrip()]
    for title, model in DOCUMENTS.items():
        schema = model.model_json_schema()
        parts += [f"## {title}", _table(schema, schema)]
        if title == "Rule":
            parts += [_object(name, schema) for name in _in_order(schema)]
    return "\n\n".join(parts) + "\n"


def objects(schema: Schema) -> set[str]:
    """Return the names of all objects with keys that a schema refers to."""
    return {name for name, each in schema.get("$defs", {}).items() if "properties" in each}


def _in_order(schema: Schema) -> list[str]:
    missing = objects(schema) - TITLES.keys() - IN_A_WORD.keys()
    if missing:
        raise ValueError(f"give these objects a heading in TITLES: {sorted(missing)}")
    return [name for name in TITLES if name in schema["$defs"]]


def _object(name: str, schema: Schema) -> str:
    described = schema["$defs"][name]
    sentences = [] if name in SAID else [" ".join(described["description"].split())]
    shown, same = described, SAME_KEYS.get(name)
    if same is not None:
        of_other = schema["$defs"][same]["properties"]
        own = {k: v for k, v in described["properties"].items() if of_other.get(k) != v}
        shared = [f"`{key}`" for key in described["properties"] if key not in own]
        missing = [f"`{key}`" for key in sorted(of_other.keys() - described["properties"].keys())]
        if len(shared) > len(missing):
            sentences.append(f"It has the keys of a {_link(same)} but {', '.join(missing)}, and:")
        else:
            sentences.append(f"It has {', '.join(shared)} as a {_link(same)}, and:")
        shown = {**described, "properties": own}
    lines = fill(" ".join(sentences), 112, break_long_words=False, break_on_hyphens=False)
    parts = [f"### {TITLES[name]}", *([lines] if lines else []), _table(shown, schema)]
    return "\n\n".join(parts)


def _table(described: Schema, schema: Schema) -> str:
    required = described.get("required", ())
    lines = ["| key | type | meaning |", "|---|---|---|"]
    keys = described["properties"].items()
    for name, key in sorted(keys, key=lambda item: item[0] not in required):
        told = _type(key, schema, tells_null=name in required)
        cells = [f"`{name}`", told + _default(key, is_required=name in required)]
        cells.append(_meaning(key, schema))
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines)


def _type(key: Schema, schema: Schema, *, tells_null: bool = False) -> str:
    """Return a type in words; null is told only where the key cannot be left out."""
    kinds = key.get("anyOf") or key.get("oneOf")
    if kinds:
        named = [_type(each, schema) for each in kinds if each.get("type") != "null"]
        with_null = [*named, "`null`"] if tells_null and len(named) < len(kinds) else named
        return _shorter(" or ".join(with_null))
    if "$ref" in key:
        name = key["$ref"].rpartition("/")[2]
        if name in IN_A_WORD:
            return IN_A_WORD[name]
        return _link(name) if name in TITLES else _type(_resolved(key, schema), schema)
    if "enum" in key:
        return ", ".join(f"`{word}`" for word in key["enum"])
    if isinstance(key["type"], list):
        return _shorter(" or ".join(WORDS[kind] for kind in key["type"]))
    return _plain(key, schema)


def _shorter(told: str) -> str:
    for long, short in SHORTER.items():
        told = told.replace(long, short)
    return told


def _plain(key: Schema, schema: Schema) -> str:
    match key["type"]:
        case "array":
            return f"list{_size(key, 'maxItems')} of {_type(key['items'], schema)}"
        case "object":
            return _mapping(key, schema)
        case "string" if "format" in key:
            return "date" if key["format"] == "date" else "time with zone (ISO 8601)"
        case "string":
            return f"text{_size(key, 'maxLength')}"
        case kind:
            return f"{WORDS[kind]}{_range(key)}"


def _mapping(key: Schema, schema: Schema) -> str:
    inner = key.get("additionalProperties")
    for pattern in key.get("patternProperties", {}).values():
        inner = pattern
    if isinstance(inner, Mapping):
        return f"mapping{_size(key, 'maxProperties')} to {_type(inner, schema)}"
    return "object"


def _size(key: Schema, bound: str) -> str:
    return f" ≤{key[bound]:,}" if bound in key else ""


def _range(key: Schema) -> str:
    low, high = key.get("minimum"), key.get("maximum")
    if low is None:
        return ""
    if high is None or high > 10**15:
        return f" ≥{low:,}" if low > -(10**12) else ""
    return f" {low:,} to {high:,}" if low > -(10**12) else " (milliseconds since 1970)"


def _default(key: Schema, *, is_required: bool) -> str:
    if is_required:
        return "; **required**"
    default = key.get("default")
    return "" if default in (None, "", [], {}, False) else f"; default `{_flow(default)}`"


def _meaning(key: Schema, schema: Schema) -> str:
    told = key.get("description") or _resolved(key, schema)["description"]
    return " ".join(told.split())


def _flow(value: Any) -> str:
    """Return a value as YAML on one line."""
    text = yaml.safe_dump(
        value, default_flow_style=True, sort_keys=False, width=10_000, allow_unicode=True
    )
    return text.removesuffix("...\n").strip()


def _resolved(key: Schema, schema: Schema) -> Schema:
    found: Schema = schema["$defs"][key["$ref"].rpartition("/")[2]] if "$ref" in key else key
    return found


def _link(name: str) -> str:
    title = TITLES[name]
    return f"[{title[0].lower()}{title[1:]}](#{title.lower().replace(' ', '-')})"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
