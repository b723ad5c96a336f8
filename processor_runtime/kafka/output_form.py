"""How the values of a topic are written, beside plain JSON: which schema, of which registry.

output of a job file ──► OutputForm ──► `encoding`, which needs the extra `kafka`
"""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class OutputForm:
    """How the values of a topic are written.

    `name`: avro or protobuf. `registry`: settings of Confluent's client, `url` among them; empty =
    there is none. `schema`: what is in the file, empty = Percept's own or the newest of the
    registry. For Avro JSON, for Protobuf a set of descriptors as Base64; without a registry a JSON
    list of schemas with their ids. `registers`: whether the schema is registered; otherwise it must
    be there.
    """

    name: str
    topic: str
    registry: tuple[tuple[str, str], ...] = field(repr=False)
    schema: str = field(default="", repr=False)
    registers: bool = True

    @property
    def subject(self) -> str:
        """What the registry keeps the schema under, by its TopicNameStrategy."""
        return f"{self.topic}-value"
