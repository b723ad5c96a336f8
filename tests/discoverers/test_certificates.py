"""What a job and a client say of a service whose certificate is not in order."""

import shutil
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from pydantic import BaseModel

from api.client import Client
from api.client.errors import ServiceError
from discoverers.http import HttpDiscovererFactory, ServiceUnreachable, SnapshotRefused
from processor_runtime.job_file.service import ServiceConnection
from processor_runtime.reporting.rule_service import RuleService, ServiceRefused
from tests.discoverers.sources import surroundings

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl")

HERE = "DNS:localhost,IP:127.0.0.1"
KEY = ("ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
Serve = Callable[..., tuple[str, Path]]


class Nothing(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_error(404)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as it is named there
        pass


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Serve with a certificate for some names; return the address and the certificate."""
    servers: list[ThreadingHTTPServer] = []

    def start(names: str = HERE, days: int = 2, *, encrypted: bool = True) -> tuple[str, Path]:
        name = f"{len(servers)}"
        key, certificate = tmp_path / f"{name}.key", tmp_path / f"{name}.pem"
        server = ThreadingHTTPServer(("127.0.0.1", 0), Nothing)
        servers.append(server)
        if encrypted:
            _certify(tmp_path, key, certificate, names, days)
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate, key)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"https://localhost:{server.server_address[1]}", certificate

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def _certify(directory: Path, key: Path, certificate: Path, names: str, days: int) -> None:
    request, extensions = directory / "request", directory / "extensions"
    extensions.write_text(f"subjectAltName={names}\n", encoding="utf-8")
    commands: tuple[list[str | Path], ...] = (
        ["req", "-new", "-newkey", *KEY, "-keyout", key, "-out", request, "-subj", "/CN=localhost"],
        [
            *("x509", "-req", "-in", request, "-signkey", key, "-out", certificate),
            *("-days", str(days), "-extfile", extensions),
        ],
    )
    for command in commands:
        subprocess.run(["openssl", *command], check=True, capture_output=True)  # noqa: S603, S607


def of_discoverer(url: str, ca_file: Path | None) -> str:
    options = {"url": url, "token_env": "TOKEN", "ca_file": ca_file and str(ca_file)}
    factory = HttpDiscovererFactory.model_validate(options)
    discoverer = factory.create_discoverer(surroundings({"TOKEN": "secret"}))
    with pytest.raises((OSError, ServiceUnreachable, SnapshotRefused)) as told:
        discoverer.get_processors()
    discoverer.release()
    return str(told.value)


def of_reports(url: str, ca_file: Path | None) -> str:
    connection = ServiceConnection.model_validate(
        {"url": url, "token_env": "TOKEN", "ca_file": ca_file and str(ca_file)}
    )
    with pytest.raises((OSError, ServiceRefused)) as told:
        RuleService.of(connection, {"TOKEN": "secret"}).ask("GET", "/v1", BaseModel)
    return str(told.value)


@pytest.mark.parametrize("ask", [of_discoverer, of_reports])
def test_what_is_wrong_with_a_certificate_is_told_with_a_remedy(
    serve: Serve, ask: Callable[[str, Path | None], str], tmp_path: Path
) -> None:
    url, certificate = serve()
    said = ask(url, None)
    assert f"the certificate of {url} is not accepted: it is self-signed; name the" in said
    assert "(ca_file" in said
    assert "404" in ask(url, certificate)

    assert "it is for another name" in ask(*serve("DNS:elsewhere.test"))
    assert "it has expired; renew it at the service" in ask(*serve(days=-1))
    assert "does not speak TLS" in ask(serve(encrypted=False)[0], None)

    assert f"{tmp_path}/gone.pem cannot be read: No such" in ask(url, tmp_path / "gone.pem")
    (tmp_path / "no.pem").write_text("no certificate", encoding="utf-8")
    assert f"{tmp_path}/no.pem holds no certificate" in ask(url, tmp_path / "no.pem")


def test_the_client_says_the_same_and_trusts_what_its_environment_does(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, certificate = serve()
    with Client(url, "secret") as client, pytest.raises(ServiceError) as told:
        list(client.processors("logins"))
    assert f"the certificate of {url} is not accepted: it is self-signed" in str(told.value)
    assert "SSL_CERT_FILE" in str(told.value)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with Client(url, "secret") as client, pytest.raises(ServiceError, match="404"):
        list(client.processors("logins"))
