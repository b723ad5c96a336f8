"""The discoverer's part of a job file: what it may say, and what is told when it says it wrong."""

from typing import Any

import pytest

from discoverers import DiscovererConfigError, create_discoverer
from discoverers.factories import BUILT_IN
from tests.discoverers.sources import STREAM_KEYS, surroundings

HTTP = {"type": "http", "url": "https://rules.test", "token_env": "TOKEN"}
TABLE = {"type": "database", "url": "sqlite:///rules.db", "table": "rules", "stream": STREAM_KEYS}


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({}, "discoverer.type: missing. Write http, database, file, directory or module:Class."),
        ({"type": "htttp"}, "'htttp' is not known. Did you mean 'http'?"),
        ({"type": "folder"}, "A class of your own is module:Class."),
        (
            HTTP | {"tokenenv": "T"},
            "discoverer (http): tokenenv: unknown key. Did you mean 'token_",
        ),
        (HTTP | {"token_file": "f"}, "give either token_env or token_file."),
        (HTTP | {"token_env": "UNSET"}, "the environment variable UNSET is not set"),
        (HTTP | {"url": "rules.test"}, "discoverer (http): url: does not fit."),
        (HTTP | {"url": None}, "url"),
        ({"type": "directory"}, "discoverer (directory): path: missing. Add it."),
        ({"type": "file", "path": "x", "interval_seconds": 0}, "interval_seconds: does not fit."),
        (TABLE | {"url": "nonsense"}, "url: not a database URL"),
        (TABLE | {"query": "SELECT 1"}, "give either table or query."),
        (TABLE | {"url_env": "URL"}, "give either url or url_env."),
        (TABLE | {"url": None, "url_env": "URL"}, "the environment variable URL is not set"),
        (TABLE | {"stream": STREAM_KEYS | {"event_time_column": "t"}}, "no column 't'"),
        (TABLE | {"stream": STREAM_KEYS | {"event_time_column": "user"}}, "is no event time"),
        (TABLE | {"stream": STREAM_KEYS | {"schema": "user"}}, "stream: schema:"),
        ({"type": "no_such_module:Factory"}, "No module named 'no_such_module'"),
        ({"type": "discoverers.files:Factory"}, "the module discoverers.files has no Factory."),
        ({"type": "pathlib:Path"}, "is no PatternProcessorDiscovererFactory. Subclass it."),
    ],
)
def test_a_wrong_configuration_says_where_and_how_to_mend_it(
    config: dict[str, Any], words: str
) -> None:
    with pytest.raises(DiscovererConfigError) as raised:
        create_discoverer(config, surroundings({"TOKEN": "secret"}))
    assert words in str(raised.value)


def test_a_message_never_repeats_a_value_that_may_be_secret() -> None:
    for config in (HTTP | {"url": "//me:hunter2@rules"}, TABLE | {"url": "hunter2", "interval": 1}):
        with pytest.raises(DiscovererConfigError) as raised:
            create_discoverer(config, surroundings({"TOKEN": "hunter2"}))
        assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize("kind", BUILT_IN)
def test_every_built_in_type_can_be_loaded(kind: str) -> None:
    with pytest.raises(DiscovererConfigError, match=rf"discoverer \({kind}\)"):
        create_discoverer({"type": kind, "no_such_option": 1}, surroundings())
