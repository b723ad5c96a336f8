"""Expressions that mean in Spark what they mean here, and rows to evaluate them on."""

from datetime import UTC, date, datetime
from typing import Any, Final

from cep.expression import Schema

DDL: Final = (
    "s STRING, t STRING, n BIGINT, m BIGINT, x DOUBLE, y DOUBLE, price DECIMAL(10,2), "
    "ts TIMESTAMP, local TIMESTAMP_NTZ, day DATE, tags ARRAY<STRING>, more ARRAY<STRING>, "
    "ns ARRAY<INT>, items ARRAY<STRUCT<name: STRING, price: DOUBLE, sizes: ARRAY<BIGINT>>>, "
    "j STRING"
)
SCHEMA: Final = Schema.from_ddl(DDL)

_NAMES: Final = (
    "s", "t", "n", "m", "x", "y", "price", "ts", "local", "day", "tags", "more", "ns", "items", "j",
)  # fmt: skip


def _moment(*parts: int) -> datetime:
    return datetime(*parts)  # type: ignore[arg-type] # noqa: DTZ001 - a clock reading


def _row(*values: Any) -> dict[str, Any]:
    return dict(zip(_NAMES, values, strict=True))


def _item(name: str | None, price: float | None, *sizes: int | None) -> dict[str, Any]:
    return {"name": name, "price": price, "sizes": list(sizes)}


ROWS: Final[list[dict[str, Any]]] = [
    _row(
        "Ana Maria", "an", 3, 2, 2.5, -0.5, None,
        datetime(2026, 3, 29, 0, 59, 59, 123456, UTC), _moment(2026, 3, 29, 2, 30),
        date(2024, 2, 29), ["new", "vip", "b"], ["VIP", "vip"], [3, 1, 2],
        [_item("a", 1.5, 1, 2), _item("b", 100.0)], '{"a": [{"b": 1.50, "c d": "x"}], "e": null}',
    ),
    _row(
        "  Straße,Öl,,x ", "x", -7, 3, -2.5, 4.0, None,
        datetime(2026, 10, 25, 1, 30, 0, 0, UTC), _moment(2026, 10, 25, 2, 30),
        date(2026, 12, 31), ["a", None], ["c", None], [5, None, 5],
        [_item(None, None, None), _item("a", -1.0, 3)], '[1, 2.0, "three", true, {"k": [ ]}]',
    ),
    _row(
        "", "", 0, 0, 0.0, 0.0, None,
        datetime(1969, 12, 31, 23, 59, 59, 999999, UTC), _moment(1970, 1, 1),
        date(1970, 1, 1), [], ["a"], [], [], "",
    ),
    _row(
        "C:\\Windows\\System32\\cmd.exe", "\\", 2**63 - 1, -1, 1e300, 1e10, None,
        datetime(2000, 1, 1, 12, 0, 0, 1, UTC), _moment(2024, 12, 31, 23, 59, 59, 999999),
        date(2000, 1, 1), ["a", "b", "a"], [], [-1], None, '"text"',
    ),
    _row(
        "TEST@Example.COM?q=1&r=%C3%A4+b", "@", -(2**63), 64, -1e-3, -0.0, None,
        datetime(2024, 2, 4, 10, 30, 15, 500000, UTC), _moment(2024, 2, 29, 12),
        date(2023, 1, 1), [None], [None], None, [_item("c", 0.0)], "{not json",
    ),
    _row(*[None] * len(_NAMES)),
]  # fmt: skip

EXPRESSIONS: Final = r"""
s ILIKE 'a%'
s ILIKE '%STRASSE%'
s ILIKE '%straße%'
s NOT ILIKE '%MARIA'
s ILIKE 'A!%%' ESCAPE '!'
s LIKE ANY ('A%', '%x ')
s LIKE ALL ('A%', '%a')
s LIKE SOME ('x')
s NOT LIKE ANY ('A%', '%a')
s NOT LIKE ALL ('A%', '%x%')
s ILIKE ANY ('%CMD.EXE', 'ana%')
s ILIKE ALL ('%M%', '%a%')
s NOT ILIKE ANY ('%M%', '%a%')
s RLIKE '(?i)STRASSE|MARIA|example\.com'
s RLIKE '(?i)[M-N]a[^B]ia'
s REGEXP 'A.a'
REGEXP_LIKE(s, '^\s')
RLIKE(s, '(?s)a.b|r.a')
EXISTS(tags, tag -> tag = 'a')
EXISTS(tags, tag -> tag = t)
EXISTS(tags, tag -> tag = 'vip' AND n > 2)
EXISTS(ns, each -> each > n)
EXISTS(items, item -> item.price > 50)
EXISTS(items, item -> item.name IS NULL)
EXISTS(items, item -> EXISTS(item.sizes, size -> size > item.price))
EXISTS(items, item -> EXISTS(tags, tag -> tag = item.name))
FORALL(tags, tag -> tag <> 'b')
FORALL(ns, each -> each > 0)
FORALL(items, item -> item.price > 0)
FILTER(tags, tag -> tag > 'a')
FILTER(ns, each -> each % 2 = 1)
FILTER(items, item -> item.price > 1)[0].name
TRANSFORM(tags, tag -> UPPER(tag))
TRANSFORM(ns, each -> each * n)
TRANSFORM(items, item -> item.name)
TRANSFORM(items, item -> SIZE(item.sizes))
SIZE(FILTER(tags, tag -> tag IN ('a', 'b')))
tags[0]
tags[n]
ns[1]
items[1].name
items[0].sizes[1]
GET(tags, m)
TRY_ELEMENT_AT(tags, 2)
TRY_ELEMENT_AT(tags, -1)
TRY_ELEMENT_AT(ns, 7)
SIZE(tags)
ARRAY_SIZE(ns)
CARDINALITY(items)
ARRAY_CONTAINS(tags, 'a')
ARRAY_CONTAINS(tags, t)
ARRAY_CONTAINS(ns, 5)
ARRAYS_OVERLAP(tags, ARRAY('a', 'vip'))
ARRAYS_OVERLAP(tags, more)
ARRAYS_OVERLAP(more, tags)
ARRAY_POSITION(tags, 'b')
ARRAY_POSITION(ns, 5)
ARRAY_DISTINCT(tags)
ARRAY_DISTINCT(ns)
ARRAY_MIN(tags)
ARRAY_MAX(ns)
ARRAY_JOIN(tags, '-')
ARRAY_JOIN(tags, '-', 'none')
ARRAY(n, m)
ARRAY(s, NULL)
GREATEST(x, y)
GREATEST(n, m, 1)
LEAST(s, t)
LEAST(x, y, 0.5e0)
LEAST(ts, TIMESTAMP '2024-01-01 00:00:00Z')
n & m
n | m
n DIV m
n DIV 3
BIT_COUNT(n)
PMOD(n, 3)
PMOD(x, 2e0)
PMOD(n, -3)
SQRT(x)
CBRT(x)
EXP(x)
LN(x)
LOG(x)
LOG(2, x)
LOG(m, n)
LOG2(x)
LOG10(x)
POWER(x, y)
POW(n, 2)
SIGN(x)
SIGNUM(n)
SIN(x)
COS(x)
TAN(x)
ASIN(x)
ACOS(y)
ATAN(x)
ATAN2(x, y)
SINH(x)
COSH(x)
TANH(x)
DEGREES(x)
RADIANS(x)
HYPOT(x, y)
LTRIM(s)
RTRIM(s)
BTRIM(s)
BTRIM(s, ' x')
OCTET_LENGTH(s)
LEFT(s, 3)
LEFT(s, m)
RIGHT(s, 3)
RIGHT(s, m)
INSTR(s, 'a')
INSTR(s, t)
LOCATE('a', s)
LOCATE(t, s)
LOCATE('a', s, 5)
LOCATE('a', s, 0)
POSITION('a', s)
REPLACE(s, 'a', 'bb')
REPLACE(s, t)
REPLACE(s, t, '_')
TRANSLATE(s, 'aMa', 'xy')
TRANSLATE(s, t, 'z')
REVERSE(s)
REPEAT(t, 3)
REPEAT(t, -1)
LPAD(t, 5)
LPAD(s, 4, 'xy')
LPAD(t, 7, 'xy')
RPAD(t, 7, 'xy')
RPAD(s, 2, '')
RPAD(t, 0)
SPLIT(s, ',')
SPLIT(s, '[, ]+')
SPLIT(s, ',', 2)
SPLIT(s, ',', 1)
SPLIT_PART(s, ',', 2)
SPLIT_PART(s, ',', -1)
SPLIT_PART(s, ',', 9)
SPLIT_PART(s, t, 1)
SUBSTRING_INDEX(s, CHR(92), 2)
SUBSTRING_INDEX(s, CHR(92), -1)
SUBSTRING_INDEX(s, t, 1)
REGEXP_EXTRACT(s, '([a-zA-Z]+)@([a-z]+)?', 1)
REGEXP_EXTRACT(s, '([a-zA-Z]+)@([a-z]+)?', 2)
REGEXP_EXTRACT(s, '[a-z]+', 0)
REGEXP_REPLACE(s, '[aeiou]', '*')
REGEXP_REPLACE(s, '([a-z])([A-Z])?', '<$2$1$0>')
REGEXP_REPLACE(t, '.', '')
REGEXP_COUNT(s, '[a-z]{2}')
LEVENSHTEIN(s, t)
LEVENSHTEIN(s, 'Ana Mario')
ASCII(s)
ASCII(t)
CHR(n)
CHAR(65)
CHR(m + 300)
HEX(s)
HEX(n)
CONV(HEX(n), 16, 10)
CONV('ff', 16, 2)
CONV('-15', 10, 16)
CONV('-15', 10, -16)
CONV('12z', 10, 36)
CONV(s, 36, 10)
CONV('18446744073709551616', 10, 16)
CONV('18446744073709551615', 10, -10)
CONV('1', 1, 10)
BASE64(s)
MD5(s)
SHA1(s)
SHA(t)
SHA2(s, 256)
SHA2(s, 0)
SHA2(s, 224)
SHA2(s, 384)
SHA2(s, 512)
SHA2(s, 1)
CRC32(s)
URL_ENCODE(s)
URL_DECODE(s)
CONCAT_WS('-', s, t)
CONCAT_WS(t, tags, s)
CONCAT_WS('/', tags)
GET_JSON_OBJECT(j, '$')
GET_JSON_OBJECT(j, '$.a')
GET_JSON_OBJECT('[1e3, 12345678901234567890, 0.1e-5, 100000000.0, 1.5E300]', '$')
GET_JSON_OBJECT('{"k": "a\"é\u00e9\/\n", "k2": {"\u00e9": false}}', '$')
GET_JSON_OBJECT('{"k": "a\"é\u00e9\/\n"}', '$.k')
GET_JSON_OBJECT(j, '$.a[0].b')
GET_JSON_OBJECT(j, '$.a[0][''c d'']')
GET_JSON_OBJECT(j, '$.e')
GET_JSON_OBJECT(j, '$.none')
GET_JSON_OBJECT(j, '$[2]')
GET_JSON_OBJECT(j, '$[3]')
GET_JSON_OBJECT(j, '$[4]')
GET_JSON_OBJECT(j, '$[0]')
JSON_ARRAY_LENGTH(j)
JSON_OBJECT_KEYS(j)
YEAR(ts)
QUARTER(day)
MONTH(local)
WEEKOFYEAR(day)
WEEKOFYEAR(ts)
DAYOFYEAR(day)
DAYOFWEEK(ts)
WEEKDAY(day)
EXTRACT(WEEK FROM ts)
EXTRACT(DOY FROM ts)
EXTRACT(QUARTER FROM ts)
HOUR(CONVERT_TIMEZONE('Europe/Berlin', ts))
CONVERT_TIMEZONE('America/New_York', ts)
CONVERT_TIMEZONE('Europe/Berlin', 'UTC', local)
CONVERT_TIMEZONE('Europe/Berlin', 'Asia/Kolkata', local)
FROM_UTC_TIMESTAMP(ts, 'Europe/Berlin')
FROM_UTC_TIMESTAMP(ts, 'Asia/Kathmandu')
TO_UTC_TIMESTAMP(ts, 'Europe/Berlin')
TO_UTC_TIMESTAMP(local, 'America/New_York')
DATE_TRUNC('YEAR', ts)
DATE_TRUNC('quarter', ts)
DATE_TRUNC('MONTH', ts)
DATE_TRUNC('WEEK', ts)
DATE_TRUNC('DAY', ts)
DATE_TRUNC('HOUR', ts)
DATE_TRUNC('minute', ts)
DATE_TRUNC('SECOND', ts)
DATE_TRUNC('MILLISECOND', ts)
DATE_TRUNC('MICROSECOND', ts)
TRUNC(day, 'YEAR')
TRUNC(day, 'QUARTER')
TRUNC(day, 'MONTH')
TRUNC(day, 'WEEK')
LAST_DAY(day)
DATE_ADD(day, 31)
DATE_SUB(day, 31)
DATEDIFF(ts, day)
DATE_DIFF(day, DATE '2024-01-01')
ADD_MONTHS(day, 1)
ADD_MONTHS(day, -13)
MAKE_DATE(2024, 2, 29)
MAKE_DATE(2020 + m, m, 1)
DAYNAME(day)
MONTHNAME(day)
DATE_FORMAT(ts, 'yyyy-MM-dd HH:mm:ss.SSS')
DATE_FORMAT(ts, 'd.M.yy h:mm a, EEE EEEE MMM MMMM')
DATE_FORMAT(ts, 'yyyyMMdd''T''HHmmss.SSSSSS D')
UNIX_SECONDS(ts)
UNIX_MILLIS(ts)
UNIX_MICROS(ts)
TIMESTAMP_SECONDS(m)
TIMESTAMP_MILLIS(m)
TIMESTAMP_MICROS(m)
DATE(ts)
TO_DATE(ts)
TIMESTAMP(day)
STRING(n)
BIGINT(y)
DOUBLE(n)
SHIFTLEFT(m, 3)
SHIFTRIGHT(n, 2)
""".strip().splitlines()
