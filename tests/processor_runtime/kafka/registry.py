"""A schema registry over HTTP: as much of one as Confluent's client uses."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import unquote


@dataclass
class Registry:
    """Schemas by id and by subject and version; counts what it is asked."""

    url: str = ""
    schemas: list[dict[str, Any]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    fails_with: int | None = None
    authorizations: set[str | None] = field(default_factory=set)

    def register(self, subject: str, schema: dict[str, Any]) -> dict[str, Any]:
        """Return a schema with its id, a new one if it is not there yet."""
        content: dict[str, Any] = {
            name: schema[name] for name in ("schema", "schemaType", "references") if name in schema
        }
        for each in self.schemas:
            if each["subject"] == subject and content.items() <= each.items():
                return each
        version = 1 + sum(each["subject"] == subject for each in self.schemas)
        self.schemas.append(
            {"id": 101 + len(self.schemas), "subject": subject, "version": version, **content}
        )
        return self.schemas[-1]

    def post(self, path: str, schema: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Return status and content for a schema: registered, or looked up under a subject."""
        _, subject, *is_new = parts_of(path)
        if self.fails_with is not None:
            return self.fails_with, {"error_code": self.fails_with, "message": "not now"}
        if is_new:
            return 200, self.register(subject, schema)
        for each in self.schemas:
            if each["subject"] == subject and each["schema"] == schema["schema"]:
                return 200, each
        return 404, {"error_code": 40403, "message": "Schema not found"}

    def answer(self, path: str) -> tuple[int, dict[str, Any]]:
        """Return status and content for a path."""
        if self.fails_with is not None:
            return self.fails_with, {"error_code": self.fails_with, "message": "not now"}
        match parts_of(path):
            case ["schemas", "ids", number]:
                found = [each for each in self.schemas if str(each["id"]) == number]
            case ["subjects", subject, "versions", "latest"]:
                found = [each for each in self.schemas if each["subject"] == subject][-1:]
            case ["subjects", subject, "versions", version]:
                found = [
                    each
                    for each in self.schemas
                    if (each["subject"], str(each["version"])) == (subject, version)
                ]
            case _:
                found = []
        if not found:
            return 404, {"error_code": 40403, "message": "Schema not found"}
        return 200, found[0]


MICROSECONDS: Final = {"type": "long", "logicalType": "timestamp-micros"}
DAYS: Final = {"type": "int", "logicalType": "date"}


def decimal(precision: int) -> dict[str, Any]:
    """Return the type of numbers with two digits behind the point."""
    return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": 2}


def record(name: str, **fields: Any) -> dict[str, Any]:
    """Return a record of Avro: the type of each field, or its type and what it is if missing."""
    documents = [
        {"name": field, "type": of[0], "default": of[1]}
        if isinstance(of, tuple)
        else {"name": field, "type": of}
        for field, of in fields.items()
    ]
    return {"type": "record", "name": name, "fields": documents}


def parts_of(path: str) -> list[str]:
    """Return the parts of a path; names of imported messages have slashes in them."""
    return [unquote(each) for each in path.partition("?")[0].strip("/").split("/")]


@contextmanager
def registry() -> Iterator[Registry]:
    """Run a registry."""
    state = Registry()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.asked.append(self.path)
            state.authorizations.add(self.headers.get("Authorization"))
            self._send(*state.answer(self.path))

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self._send(*state.post(self.path, body))

        def _send(self, status: int, content: dict[str, Any]) -> None:
            text = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
