"""Options of files that Percept reads itself, with capital letters or without."""

from typing import Any

import pytest
from pydantic import ValidationError

from processor_runtime.job_file.source import Source
from processor_runtime.sources.time_patterns import TimePatterns


def source(form: str, **options: Any) -> Source:
    return Source.model_validate({"format": form, "path": "/in", "options": options})


def test_known_options_say_how_csv_is_read() -> None:
    given = source("csv", Header=True, delimiter="\\t", dateFormat="dd.MM.yyyy", maxFileAge="1d")
    assert (given.has_header, given.separator) == (True, "\t")
    assert given.time_patterns == TimePatterns(date="dd.MM.yyyy")
    assert given.listing_options == {"maxFileAge": "1d"}
    usual = source("csv")
    assert (usual.has_header, usual.separator) == (False, ",")
    for sign in (";", "|", "\t", " ", "\x01"):
        assert source("csv", SEP=sign).separator == sign


@pytest.mark.parametrize(
    ("form", "options", "reason"),
    [
        ("csv", {"nullValue": "-"}, "Percept reads CSV itself and has no option 'nullValue'"),
        ("csv", {"heder": "true"}, "Did you mean 'header'"),
        ("csv", {"header": "yes"}, "header: write true or false"),
        ("csv", {"sep": "§"}, "'§' cannot be between values"),
        ("csv", {"sep": '"'}, "cannot be between values"),
        ("csv", {"sep": "||"}, "cannot be between values"),
        ("csv", {"sep": ";", "delimiter": ";"}, "either sep or delimiter"),
        ("csv", {"timestampFormat": "nonsense"}, "timestampFormat: 'nonsense'"),
        ("csv", {"mode": "FAILFAST"}, "mode is set by the job"),
        ("parquet", {"mergeSchema": "true"}, "Percept reads Parquet itself and has no option"),
        ("parquet", {"dateFormat": "yyyy"}, "Parquet itself and has no option 'dateFormat'"),
    ],
)
def test_others_are_refused(form: str, options: dict[str, str], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        source(form, **options)


def test_what_spark_reads_has_the_options_of_spark() -> None:
    assert not source("orc", mergeSchema="true").is_read_without_spark
    values = {"format": "parquet", "path": "/in", "options": {"mergeSchema": "true"}}
    given = Source.model_validate(values | {"value_format": "json"})
    assert not given.is_read_without_spark
