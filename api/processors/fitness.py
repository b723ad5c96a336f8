"""Do the published rules of a stream still fit, if its columns change?"""

import json

from sqlalchemy.orm import Session

from api.problems import Flaw
from api.processors import repository
from api.processors.checks import definition_flaws
from cep.expression import Schema

_SHOWN = 20


def misfits(session: Session, stream: str, schema: Schema) -> list[Flaw]:
    """Return what a new schema would break in published versions, twenty places at most."""
    found: list[Flaw] = []
    for version in repository.live_versions(session, stream):
        for flaw in definition_flaws(json.loads(version.definition), schema):
            who = f"Processor '{version.processor_id}', version {version.version}, {flaw.pointer}"
            found.append(
                flaw.model_copy(update={"pointer": "/schema", "detail": f"{who}: {flaw.detail}"})
            )
        if len(found) >= _SHOWN:
            break
    return found[:_SHOWN]
