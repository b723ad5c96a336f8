"""What routes of lists take beside the models of their bodies."""

from typing import Annotated, Any, Final

from fastapi import Query

from cep.instants import Instant
from cep.list_content import LONGEST_VALUE, MOST_VALUES

SearchedText = Annotated[str, Query(max_length=LONGEST_VALUE, pattern=r"^[^\x00]*$")]
EffectiveFrom = Annotated[
    Instant | None,
    Query(description="First event time the new version is for; left out = at once."),
]

UPLOAD: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "content": {
            "text/csv": {
                "schema": {"type": "string"},
                "example": "ana\neve\n",
            },
            "application/json": {
                "schema": {
                    "type": "array",
                    "maxItems": MOST_VALUES,
                    "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
                },
                "example": ["ana", "eve"],
            },
        },
    }
}
"""What OpenAPI says of a body that the route reads itself: whole lists are long."""
