"""The one rule in a file that a command is given."""

from pathlib import Path
from typing import Any

from api.connected import BAD_INPUT, end
from cep.definition.rule_files import read_documents


def one_rule(path: Path) -> dict[str, Any]:
    """Return the document of the rule in a file, as the service takes it.

    Raises:
        Exit: the file cannot be read, or has not exactly one rule.
    """
    documents, problems = read_documents([path])
    rules = [each for each in documents if "pattern" in each.data]
    if problems:
        end("\n".join(map(str, problems)), code=BAD_INPUT)
    if len(rules) != 1:
        end(f"{path}: there are {len(rules)} rules in it; it takes one", code=BAD_INPUT)
    return {key: value for key, value in rules[0].data.items() if key != "paused"}
