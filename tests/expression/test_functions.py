"""Functions: both evaluators agree; what is no constant, or cannot be read, is refused."""

import ipaddress
import math
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.expression import (
    Expression,
    ExpressionError,
    Schema,
    check,
    compile_columnar,
    compile_scalar,
    resolve,
    to_sql,
)
from cep.expression.functions.addresses import in_blocks
from cep.expression.functions.mathematics import EARTH_RADIUS, geo_distance
from cep.expression.lists import ListContent, ValueList
from cep.expression.types import DATE
from tests.docs.fences import fences
from tests.expression.function_examples import EXPRESSIONS, ROWS, SCHEMA


def values_of(text: str, rows: list[dict[str, Any]], schema: Schema = SCHEMA) -> list[Any]:
    """The values that both evaluators give."""
    node = resolve(Expression.parse(text), [], schema)
    scalar = compile_scalar(node)
    expected = [scalar(row, ()) for row in rows]
    frame = pl.DataFrame(rows, schema=schema.to_polars(), orient="row")
    found = frame.select(compile_columnar(node, schema)).to_series().to_list()
    assert list(map(comparable, found)) == list(map(comparable, expected)), text
    return expected


def comparable(value: Any) -> Any:
    """A value that equals another if that is of the same type, NaN included."""
    is_nan = isinstance(value, float) and math.isnan(value)
    return type(value).__name__, None if is_nan else value


def test_both_evaluators_agree_on_every_example() -> None:
    for text in EXPRESSIONS:
        assert check(Expression.parse(text), schema=SCHEMA, steps=()) == [], text
        values_of(text, ROWS)


def test_every_example_is_read_again_as_it_is_written() -> None:
    for text in EXPRESSIONS:
        written = to_sql(Expression.parse(text).root)
        assert to_sql(Expression.parse(written).root) == written


def test_lambdas_over_many_elements_are_evaluated_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cep.expression.evaluation.lambdas._ELEMENTS_AT_ONCE", 2)
    for text in EXPRESSIONS:
        if "->" in text:
            values_of(text, ROWS)


# IP addresses

_BLOCKS = [
    "10.0.0.0/8",
    "10.1.2.3/31",
    "0.0.0.0/0",
    "192.168.1.77/24",
    "2001:db8::/32",
    "fe80::1/10",
]
_ADDRESSES = st.one_of(
    st.ip_addresses(v=4),
    st.ip_addresses(v=4, network="10.0.0.0/15"),
    st.ip_addresses(v=6),
    st.ip_addresses(v=6, network="2001:db8::/31"),
    st.ip_addresses(network="192.168.0.0/22"),
)


@given(st.lists(st.sampled_from(_BLOCKS), min_size=1, max_size=4), _ADDRESSES)
def test_an_address_lies_in_blocks_as_python_has_it(
    blocks: list[str], address: ipaddress.IPv4Address | ipaddress.IPv6Address
) -> None:
    networks = [ipaddress.ip_network(block, strict=False) for block in blocks]
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    expected = any((mapped or address) in network for network in networks)
    assert in_blocks(str(address), *blocks) is expected


def test_an_ipv4_address_is_its_mapped_ipv6_address() -> None:
    assert in_blocks("::ffff:10.0.0.1", "10.0.0.0/8")
    assert in_blocks("10.0.0.1", "::/0")
    assert not in_blocks("10.0.0.1", "2001:db8::/32")


@pytest.mark.parametrize(
    "text", ["", "10.0.0", "10.0.0.256", "010.0.0.1", " 10.0.0.1", "10.0.0.1:80", "fe80::1%eth0",
             "host", "10.0.0.1/8", "::g", "\ud800", "10.0.0.1\0"]
)  # fmt: skip
def test_what_is_no_address_is_in_no_known_block(text: str) -> None:
    assert in_blocks(text, "::/0") is None


def test_addresses_in_columns() -> None:
    schema = Schema.from_ddl("ip STRING")
    rows = [{"ip": ip} for ip in ("10.1.2.3", "11.0.0.1", None, "2001:db8::1", "x", "10.1.2.3")]
    found = values_of("CIDR_MATCH(ip, '10.0.0.0/8', '2001:db8::/32')", rows, schema)
    assert found == [True, False, None, True, None, True]


# Distances

_LATITUDES, _LONGITUDES = st.floats(-90, 90), st.floats(-540, 540)


@given(_LATITUDES, _LONGITUDES, _LATITUDES, _LONGITUDES)
def test_a_distance_is_that_of_the_chord(a: float, x: float, b: float, y: float) -> None:
    def point(latitude: float, longitude: float) -> tuple[float, float, float]:
        lat, lon = math.radians(latitude), math.radians(longitude)
        return math.cos(lat) * math.cos(lon), math.cos(lat) * math.sin(lon), math.sin(lat)

    chord = math.dist(point(a, x), point(b, y))
    expected = 2 * EARTH_RADIUS * math.asin(min(1.0, chord / 2))
    found = geo_distance(a, x, b, y)
    assert found is not None
    # Near the opposite point an error of one bit is a metre.
    assert math.isclose(found, expected, rel_tol=1e-6, abs_tol=1e-6 if found < 1.9e7 else 1)


@given(st.lists(st.tuples(st.floats(-91, 91), _LONGITUDES), min_size=1, max_size=20))
def test_distances_in_columns_are_the_same_to_the_bit(points: list[tuple[float, float]]) -> None:
    schema = Schema.from_ddl("lat DOUBLE, lon DOUBLE, n BIGINT")
    rows = [{"lat": lat, "lon": lon, "n": None if lat < -90 else 7} for lat, lon in points]
    values_of("GEO_DISTANCE(lat, lon, 52.5, n)", rows, schema)
    values_of("GEO_DISTANCE(52, 13e0, lon / 6, lat)", rows, schema)


def test_a_distance_that_others_have_published() -> None:
    """Trino's documentation of great_circle_distance, whose radius is 6371.01 km."""
    found = geo_distance(36.12, -86.67, 33.94, -118.40)
    assert found is not None
    assert math.isclose(found / EARTH_RADIUS * 6371.01, 2886.448973436703, rel_tol=1e-9)
    assert geo_distance(91, 0, 0, 0) is None


# Time zones


@given(
    st.datetimes(datetime(1960, 1, 1), datetime(2037, 1, 1)),  # noqa: DTZ001 - naive on purpose
    st.sampled_from(["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"]),
)
def test_clocks_of_a_zone_are_those_of_duckdb(moment: datetime, zone: str) -> None:
    schema = Schema.from_ddl("ts TIMESTAMP, local TIMESTAMP_NTZ")
    row = {"ts": moment.replace(tzinfo=UTC), "local": moment}
    (local,) = values_of(f"CONVERT_TIMEZONE('{zone}', ts)", [row], schema)
    query = "SELECT ?::TIMESTAMPTZ AT TIME ZONE ?"
    with duckdb.connect() as connection:
        shown = connection.execute(query, [row["ts"], zone]).fetchone()
    assert shown == (local,)


def test_hours_over_the_changes_of_clocks() -> None:
    schema = Schema.from_ddl("ts TIMESTAMP")
    spring = datetime(2026, 3, 28, 23, 30, tzinfo=UTC)
    rows = [{"ts": spring + timedelta(hours=hour)} for hour in range(4)]
    assert values_of("HOUR(CONVERT_TIMEZONE('Europe/Berlin', ts))", rows, schema) == [0, 1, 3, 4]
    autumn = datetime(2026, 10, 24, 23, 30, tzinfo=UTC)
    rows = [{"ts": autumn + timedelta(hours=hour)} for hour in range(4)]
    assert values_of("HOUR(CONVERT_TIMEZONE('Europe/Berlin', ts))", rows, schema) == [1, 2, 2, 3]


def test_the_hours_outside_of_an_office_as_the_page_has_them() -> None:
    """The clocks of Berlin are an hour or two ahead of UTC; the page has one example in SQL."""
    shown = (fence for fence in fences("docs/expressions.md") if fence.heading == "Times")
    (condition,) = (fence.text for fence in shown if fence.language == "sql")
    holidays = ListContent("h", DATE, lambda: [date(2026, 5, 1), date(2026, 12, 25)])
    lists = (ValueList("holidays", DATE, ((0, holidays),)),)
    schema = Schema.from_ddl("at TIMESTAMP", lists)
    starts = [datetime(2026, 4, 29, tzinfo=UTC), datetime(2026, 12, 23, tzinfo=UTC)]
    rows = [{"at": start + timedelta(minutes=30 * n)} for start in starts for n in range(240)]
    found = values_of(condition, rows, schema)
    for row, outside in zip(rows, found, strict=True):
        local = row["at"].astimezone(ZoneInfo("Europe/Berlin"))
        is_free = local.isoweekday() > 5 or local.date() in holidays.members
        assert outside is (is_free or not 8 <= local.hour <= 17), local


# What is refused


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CIDR_MATCH(s, '10.0.0.0')", "/prefix is missing; one address is '10.0.0.0/32'"),
        ("CIDR_MATCH(s, '10.0.0.0/33')", "the prefix is a number from 0 to 32"),
        ("CIDR_MATCH(s, '10.0.0/8')", "'10.0.0' is none"),
        ("CIDR_MATCH(s, '10.0.0.0/8', t)", "CIDR_MATCH needs a constant text"),
        ("CONVERT_TIMEZONE('Europe/Berln', ts)", "did you mean Europe/Berlin"),
        ("DATE_TRUNC('fortnight', ts)", "'fortnight' is no unit of time"),
        ("DATE_FORMAT(ts, 'yyyy QQ')", "QQ is not supported in a pattern"),
        ("GET_JSON_OBJECT(j, '$.a[*]')", "there are no wildcards"),
        ("SPLIT(s, ',*')", "is found between any two characters"),
        ("REGEXP_REPLACE(s, 'a*', '')", "is found between any two characters"),
        ("REGEXP_REPLACE(s, 'a', '$x')", "$ stands before the number of a group"),
        ("REGEXP_EXTRACT(s, '(')", "malformed regular expression"),
        ("EXISTS(tags)", "EXISTS takes an array and a lambda"),
        ("EXISTS(tags, (tag, n) -> n > 1)", "the lambda of EXISTS takes one variable"),
        ("EXISTS(tags, t -> EXISTS(ns, t -> t > 1))", "t is already the variable of the lambda"),
        (
            "EXISTS(tags, a -> EXISTS(tags, b -> EXISTS(tags, c -> EXISTS(tags, d -> d = a))))",
            "lambdas are nested at most 3 deep",
        ),
        ("UPPER(tag -> tag)", "UPPER takes no lambda"),
        ("a = 1 & b = 2", "& is no operator of SQL"),
        ("tags[0:1] = s", "[ ] takes one index"),
        ("s LIKE ANY ()", "LIKE needs patterns"),
        ("s RLIKE 'a' ESCAPE 'b'", "ESCAPE is not allowed with RLIKE"),
        ("REGEXP_LIKE(s)", "REGEXP_LIKE takes 2 arguments, not 1"),
    ],
)
def test_what_is_refused_when_it_is_read(text: str, message: str) -> None:
    with pytest.raises(ExpressionError) as refusal:
        Expression.parse(text)
    assert message in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("EXISTS(tags, s -> s = 'a')", "the variable s has the name of a column"),
        ("EXISTS(tags, pay -> pay = 'a')", "the variable pay has the name of a step"),
        ("EXISTS(s, each -> each = 'a')", "EXISTS needs an ARRAY, not a STRING"),
        ("EXISTS(tags, each -> each)", "a condition is needed, this is a STRING"),
        ("EXISTS(ns, each -> each = 'a')", "cannot compare BIGINT with STRING"),
        ("EXISTS(items, item -> item.prize > 1)", "Did you mean price or sizes?"),
        ("EXISTS(tags, each -> missing = 'a')", "there is no column missing"),
        ("items[0].nam = 'a'", "did you mean name?"),
        ("tags['a'] = 'a'", "there is no column tags.a"),
        ("tags[s] = 'a'", "needs a whole number as the place of an element"),
        ("tags[0] > 3", "cannot compare STRING with BIGINT"),
        ("ARRAYS_OVERLAP(tags, ns)", "cannot compare the elements"),
        ("GREATEST(n, s) > 1", "needs values of one type, not BIGINT and STRING"),
        ("n = (TRUE & FALSE)", "between conditions write AND, OR and NOT"),
        ("HEX(x) = 'a'", "needs a text or a whole number"),
        ("CIDR_MATCH(n, '10.0.0.0/8')", "needs a text, not a BIGINT"),
    ],
)
def test_what_the_check_finds(text: str, message: str) -> None:
    problems = check(Expression.parse(text), schema=SCHEMA, steps=("pay",))
    assert message.lower() in " ".join(map(str, problems)).lower()
