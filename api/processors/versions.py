"""A version of a rule by its number, or the refusal that tells which there is."""

from sqlalchemy.orm import Session

from api.processors import repository
from api.processors.tables import Processor, ProcessorVersion
from api.web.problems import not_found


def version_in(session: Session, processor: Processor, version: int) -> ProcessorVersion:
    """Return a version of a processor.

    Raises:
        Refusal: there is no such version (404).
    """
    found = repository.version_of(session, processor.id, version)
    if found is None:
        newest = f"The newest is {processor.latest_version}."
        raise not_found("version", str(version), newest, of=f"rule '{processor.id}'")
    return found
