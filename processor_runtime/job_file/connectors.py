"""Which connector each part of a job file uses that reads from or writes to Kafka.

    packages of any part, jars in `spark` ──► `connector: spark`, else `connector: percept`

Packages belong to the whole session: if one part names Spark's connector, all of them can use it.
"""

from collections.abc import Iterator
from typing import Any, Final

_ARTIFACT: Final = "spark-sql-kafka"
_JARS: Final = "spark.jars"


def with_connectors(data: Any) -> Any:
    """Return the data of a job file with `connector` in every part that is about Kafka.

    Args:
        data: as it was read; parts of another form than a job file's are left as they are.
    """
    if not isinstance(data, dict):
        return data
    source, outputs = data.get("source"), data.get("outputs")
    parts = [source, *(outputs if isinstance(outputs, list) else [])]
    named = "spark" if any(_ARTIFACT in text for text in _packages(data, parts)) else "percept"
    changed = [_with_connector(part, named) for part in parts]
    return (
        data
        | ({"source": changed[0]} if "source" in data else {})
        | ({"outputs": changed[1:]} if isinstance(outputs, list) else {})
    )


def _packages(data: dict[Any, Any], parts: list[Any]) -> Iterator[str]:
    for part in parts:
        packages = part.get("packages") if isinstance(part, dict) else None
        yield from map(str, packages if isinstance(packages, list) else [])
    settings = data.get("spark")
    for name, value in settings.items() if isinstance(settings, dict) else ():
        if str(name).startswith(_JARS):
            yield str(value)


def _with_connector(part: Any, connector: str) -> Any:
    if not isinstance(part, dict) or "kafka" not in (part.get("format"), part.get("type")):
        return part
    # Written as null it is left out, too: `format: kafka` reads and writes with one of them.
    return part | {"connector": connector} if part.get("connector") is None else part
