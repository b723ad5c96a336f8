"""What people write who come from other languages, and what to write here instead.

text or name ──as SQL dialects, Python, Java, EQL, SPL or Sigma have it──► hint
"""

import re
from typing import Final

NO_CLOCK: Final = "a rule must find the same in a replay; compare event times instead"
_NOT_RANDOM: Final = "a rule must find the same in a replay, so nothing is random"
_MATCHES: Final = "write RLIKE: user RLIKE '^a'"
_ALONE: Final = "a condition stands alone, such as x > 1"
_POWER: Final = "write POWER(x, 2)"
_STRUCT: Final = "write the field of a struct behind a point: geo.lat"
_NAN: Final = "write CAST('NaN' AS DOUBLE), which equals itself"
_BARE: Final = "write the name of the column alone"

OPERATORS: Final = {
    "&&": "write AND",
    "&": "write AND between conditions; & is of the bits of whole numbers",
    "|": "write OR between conditions; | is of the bits of whole numbers",
    "===": "write =",
    "!==": "write <>",
    "=>": "write >=",
    "=<": "write <=",
    "=~": _MATCHES,
    "~": _MATCHES,
    "!~": "write NOT RLIKE: user NOT RLIKE '^a'",
    "??": "write COALESCE(a, b)",
    "?": "write CASE WHEN ... THEN ... ELSE ... END",
    "**": _POWER,
    "^": _POWER,
    "//": "write FLOOR(a / b); comments are not allowed",
    "->": _STRUCT,
    "->>": _STRUCT,
    "$": _BARE,
    "@": _BARE,
    "#": _BARE,
    "eq": "write =",
    "equals": "write =",
    "ne": "write <>",
    "gt": "write >",
    "greater": "write >",
    "ge": "write >=",
    "lt": "write <",
    "less": "write <",
    "le": "write <=",
    "matches": _MATCHES,
    "similar": _MATCHES,
    "contains": "write CONTAINS(user, 'a')",
    "startswith": "write STARTSWITH(user, 'a')",
    "starts": "write STARTSWITH(user, 'a')",
    "endswith": "write ENDSWITH(user, 'a')",
    "ends": "write ENDSWITH(user, 'a')",
    "xor": "write a <> b",
    "limit": _ALONE,
    "order": _ALONE,
    "group": _ALONE,
}
"""Between two operands."""
_OPENINGS: Final = {
    "where": _ALONE,
    "filter": _ALONE,
    "distinct": _ALONE,
    "lambda": _ALONE,
    "if": "write CASE WHEN ... THEN ... ELSE ... END",
}
"""In front of a condition."""
FUNCTIONS: Final = {
    name: hint
    for names, hint in {
        "NOW GETDATE SYSDATE TODAY UNIX_TIMESTAMP LOCALTIMESTAMP PROCTIME": NO_CLOCK,
        "RAND RANDOM UUID GEN_RANDOM_UUID": _NOT_RANDOM,
        "LIST": "a list of the stream stands behind IN: user IN LIST('name')",
        "TO_UNIXTIME TO_EPOCH EPOCH": "write UNIX_SECONDS(at)",
        "TO_NUMBER NUMERIC": "write CAST(... AS DOUBLE)",
        "INTEGER LONG CONVERT": "write CAST(... AS BIGINT)",
        "STR TO_CHAR TO_STRING": "write CAST(... AS STRING)",
        "TIMESTAMPDIFF": "subtract times: at - a.at > INTERVAL '10' MINUTE",
        "TIMESTAMPADD": "write at + INTERVAL '1' DAY",
        "DATE_PART DATEPART": "write EXTRACT(HOUR FROM at) or HOUR(at)",
        "AT_TIMEZONE TIMEZONE": "write CONVERT_TIMEZONE('Europe/Berlin', at)",
        "ISNAN IS_NAN": _NAN,
        "ISNULL IS_NULL": "write user IS NULL",
        "ISNOTNULL IS_NOT_NULL NOTNULL": "write user IS NOT NULL",
        "IIF": "write IF(condition, value, other)",
        "REGEXP_MATCHES REGEX MATCH": "write user RLIKE '^a'",
        "WILDCARD": "write user LIKE 'a%'",
        "STRPOS INDEXOF FIND CHARINDEX": "write INSTR(user, 'a'), which counts from 1",
        "STRINGCONTAINS": "write CONTAINS(user, 'a')",
        "REGEXP_SUBSTR REGEX_EXTRACT": "write REGEXP_EXTRACT(user, '^(a+)', 1)",
        "SQUARE": _POWER,
        "PREV LAG NEXT LEAD": (
            "name the step: LAST(step.field); PREV and NEXT stand in MATCH_RECOGNIZE"
        ),
        "ROW_NUMBER RANK": "count the events of a step: COUNT(step.*)",
        "ANY HAS ARRAY_ANY ANY_MATCH": (
            "write ARRAY_CONTAINS(array, value), or EXISTS(array, each -> each > 1)"
        ),
        "ALL ALL_MATCH": "write FORALL(array, each -> each > 1)",
        "ARRAY_LENGTH COUNT_ELEMENTS": "write SIZE(array)",
        "CIDRMATCH IN_CIDR CIDR_CONTAINS IPV4_IS_IN_RANGE": "write CIDR_MATCH(ip, '10.0.0.0/8')",
        "JSON_EXTRACT JSON_VALUE JSON_EXTRACT_SCALAR JSON_QUERY": (
            "write GET_JSON_OBJECT(text, '$.a[0]')"
        ),
        "HAVERSINE GREAT_CIRCLE_DISTANCE GREATCIRCLEDISTANCE ST_DISTANCE ST_DISTANCESPHERE": (
            "write GEO_DISTANCE(lat, lon, lat2, lon2), which is in metres"
        ),
    }.items()
    for name in names.split()
}
"""By the names of functions in other languages."""
UNEXPECTED: Final = {
    ")": "it closes no bracket",
    ",": "write AND between conditions, and a number without separators: 1000",
    ":": "write user = 'a', or user RLIKE '^a'",
    "{": _BARE,
}
"""By what stands where nothing like it may stand; for all else, an operator may be missing."""

_SYMBOLS: Final = sorted((each for each in OPERATORS if not each.isalpha()), key=len, reverse=True)
_FOREIGN: Final = re.compile(
    rf"'(?:''|[^'])*'|`[^`]*`|\|\||(?P<symbol>{'|'.join(map(re.escape, _SYMBOLS))})"
    rf"|(?<=[\w)'\"] )(?P<word>{'|'.join(filter(str.isalpha, OPERATORS))})(?=\s)"
    rf"|\A\s*(?P<opening>{'|'.join(_OPENINGS)})(?=\s)",
    re.IGNORECASE,
)
_COLUMNS: Final = (
    (re.compile("none|nil|undefined", re.IGNORECASE), "write IS NULL"),
    (re.compile("nan", re.IGNORECASE), _NAN),
    (re.compile("[0-9][0-9_]*[kmb]?", re.IGNORECASE), "a number has digits alone: 1000"),
    (re.compile("[\u2018\u2019\u201c\u201d].*"), "quotes are straight: 'a'"),
)
"""What is read as the name of a column."""
_METHODS: Final = {
    "length": "LENGTH",
    "len": "LENGTH",
    "hour": "HOUR",
    "year": "YEAR",
    "day": "DAY",
}


def foreign_operator(text: str) -> tuple[tuple[int, int], str, str] | None:
    """Return the first operator of another language outside texts and names: place, it, hint."""
    for found in _FOREIGN.finditer(text):
        for kind, hints in (("symbol", OPERATORS), ("word", OPERATORS), ("opening", _OPENINGS)):
            if written := found[kind]:
                return found.span(kind), written, hints[written.lower()]
    return None


def column_hint(path: tuple[str, ...], columns: tuple[str, ...]) -> str:
    """Return what may be meant by the path of a column that there is not; "" if nothing shows."""
    first, *rest = path
    if not rest:
        return next((hint for name, hint in _COLUMNS if name.fullmatch(first)), "")
    if first in columns and rest[0].lower() in _METHODS:
        return f"write {_METHODS[rest[0].lower()]}({first})"
    return f"write {'.'.join(rest)} alone" if rest[0] in columns else ""
