"""Why a request was not carried out, with a pointer to each wrong place.

Source: RFC 9457, "Problem Details for HTTP APIs"; RFC 6901, "JSON Pointer".
"""

from pydantic import ConfigDict, Field

from contract.service.bases import Answer


class Flaw(Answer):
    """One thing that is wrong with a request."""

    pointer: str = Field(
        description="Where, as a JSON Pointer into the body or `query/…`, `path/…`, `header/…`."
    )
    detail: str = Field(description="What is wrong there.")
    remedy: str = Field(default="", description="How to fix it.")
    line: int | None = Field(default=None, description="Line in the text at the pointer, from 1.")
    column: int | None = Field(default=None, description="Column in that line, from 1.")
    snippet: str = Field(default="", description="That line, with carets below the wrong part.")

    def __str__(self) -> str:
        place = self.pointer or "the whole"
        if self.line is not None:
            column = "" if self.column is None else f", column {self.column}"
            place += f" (line {self.line}{column})"
        message = f"{place}: {self.detail} {self.remedy}".rstrip()
        return f"{message}\n{self.snippet}" if self.snippet else message


class Problem(Answer):
    """Why a request was not carried out (RFC 9457)."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "type": "about:blank",
                    "title": "Unprocessable Content",
                    "status": 422,
                    "detail": "The rule has 1 problem.",
                    "instance": "/v1/processors",
                    "request_id": "5b0c7e9a6d5f4f0d",
                    "errors": [
                        {
                            "pointer": "/pattern/steps/0/where",
                            "detail": "there is no column amuont.",
                            "remedy": "did you mean amount?",
                            "line": 1,
                            "column": 1,
                            "snippet": "  amuont > 10\n  ^^^^^^",
                        }
                    ],
                }
            ]
        }
    )

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    instance: str = Field(description="The path that was asked for.")
    request_id: str = Field(description="Finds this request in the log of the service.")
    errors: list[Flaw] = Field(default=[])
