"""Settings of the service: safe defaults for one machine, `PERCEPT_*` in the environment."""

from ipaddress import ip_network
from typing import Annotated, Any

from pydantic import Field, PlainValidator, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict
from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from cep.signing.keys import SigningKeys


def _code_keys(value: Any) -> Any:
    return SigningKeys.from_text(value) if isinstance(value, str) else value


CodeKeys = Annotated[SigningKeys | None, NoDecode, PlainValidator(_code_keys)]


class Settings(BaseSettings):
    """What an operator may set; read once, by a composition root."""

    model_config = SettingsConfigDict(
        env_prefix="PERCEPT_",
        frozen=True,
        extra="ignore",
        hide_input_in_errors=True,  # it may be a key, or a URL with a password
    )

    database_url: str = Field(
        default="sqlite:///percept.db",
        description="`sqlite:///file` or `postgresql://user@host/database`.",
    )
    host: str = Field(default="127.0.0.1", description="Loopback unless said otherwise.")
    port: int = Field(default=8321, ge=0, le=65535)
    trusted_proxies: str = Field(
        default="",
        description="Addresses and networks whose X-Forwarded-For and X-Forwarded-Proto are taken.",
    )
    max_body_bytes: int = Field(default=2_000_000, ge=1_000)
    max_body_values: int = Field(
        default=200_000, ge=1_000, description="Numbers, texts, lists … in one body."
    )
    head_seconds: float = Field(
        default=15, gt=0, description="How long to wait for a request, until its head is whole."
    )
    body_seconds: float = Field(default=30, gt=0, description="How long a whole body may take.")
    connections: int = Field(
        default=1_000, ge=16, description="Open at once; fewer where descriptors are few."
    )
    requests_per_second: float = Field(
        default=200, gt=0, description="Per token, on average; bursts may be four times as many."
    )
    max_wait_seconds: float = Field(default=60, gt=0, description="The longest long-poll.")
    metrics_open: bool = Field(
        default=False, description="Serve /metrics without a token, for a scraper on a private net."
    )
    stop_seconds: int = Field(
        default=10, ge=0, description="How long a stop waits for requests under way."
    )
    signing_keys: CodeKeys = Field(
        default=None,
        description="`id:secret`, newest first, with commas; without any, Python code is refused.",
    )
    heartbeat_seconds: float = Field(default=5, gt=0, description="How often jobs report.")
    stale_after_heartbeats: int = Field(
        default=6, ge=2, description="A job that has missed so many heartbeats counts as stale."
    )
    history_hours: int = Field(
        default=24, ge=1, le=168, description="How long counters of jobs are kept."
    )
    matches_per_stream: int = Field(default=100_000, ge=1, description="The newest are kept.")
    matches_per_processor: int = Field(default=1_000, ge=1, description="The newest are kept.")
    triage_days: int = Field(
        default=365, ge=1, le=36_500, description="What became of matches that are gone is kept."
    )
    triage_per_processor: int = Field(
        default=10_000, ge=1, description="Likewise: the newest are kept."
    )
    proposals_per_stream: int = Field(
        default=1_000, ge=1, description="Closed ones; the newest are kept."
    )
    match_listeners: int = Field(
        default=100, ge=0, description="Connections that may listen for matches at once."
    )
    backtests_per_stream: int = Field(
        default=200, ge=1, description="The newest that have ended are kept."
    )
    trial_processes: int = Field(
        default=2, ge=1, le=64, description="In which rules are tried; so many trials at once."
    )
    trial_seconds: float = Field(default=10, gt=0, le=600, description="How long one may take.")
    trial_megabytes: int = Field(
        default=500, ge=50, description="Memory that one may take; enforced on Linux only."
    )
    session_hours: float = Field(
        default=168, gt=0, le=8_760, description="How long a sign-in to the dashboard lasts."
    )
    webhook_seconds: float = Field(
        default=5, gt=0, le=3_600, description="How often webhooks are looked after."
    )
    webhook_private_addresses: bool = Field(
        default=False,
        description="Let webhooks go to addresses that are not public, and without TLS.",
    )
    webhook_deliveries: int = Field(
        default=200, ge=1, description="Messages that have ended are kept, of each webhook."
    )
    log_level: str = Field(default="info", pattern="^(debug|info|warning|error)$")

    @property
    def stale_after_seconds(self) -> float:
        """How long a job may be silent before it counts as stale."""
        return self.heartbeat_seconds * self.stale_after_heartbeats

    @field_validator("trusted_proxies")
    @classmethod
    def _are_networks(cls, proxies: str) -> str:
        for proxy in filter(None, map(str.strip, proxies.split(","))):
            try:
                ip_network(proxy)  # uvicorn takes any text, and * for everybody
            except ValueError:
                remedy = "Write addresses or networks such as 10.0.0.7,10.1.0.0/16"
                raise ValueError(f"'{proxy}' is no address. {remedy}") from None
        return proxies

    @field_validator("database_url")
    @classmethod
    def _is_supported(cls, url: str) -> str:
        try:
            parsed = make_url(url)
        except ArgumentError:
            parsed = None
        known = parsed is not None and (
            parsed.get_backend_name() == "postgresql"
            or (parsed.get_backend_name() == "sqlite" and parsed.database not in {None, ":memory:"})
        )
        if not known:
            # The URL is not shown: it may hold a password.
            raise ValueError("write sqlite:///file.db or postgresql://user@host/database")
        return url
