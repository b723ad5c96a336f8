"""Whether what was found can run on its stream, told line by line with its place in the file."""

from pydantic import ValidationError

from cep.definition.checking import content_problems
from cep.definition.document import ProcessorContent
from cep.expression import Schema
from contract.problem_text import placed, problem_text
from discoverers.found import FoundVersion


def definition_problems(found: FoundVersion, schema: Schema) -> str:
    """Return everything that is wrong with a definition, one problem a line; empty if it can run.

    Args:
        found: the version that holds the definition.
        schema: the columns of its stream.
    """
    try:
        content = ProcessorContent.model_validate(found.definition)
    except ValidationError as error:
        return problem_text(error, ProcessorContent, found.text)
    return "\n".join(placed(content_problems(content, schema), found.text))
