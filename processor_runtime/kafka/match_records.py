"""Matches that are lines of JSON already → records of a topic.

    lines of a shard ──match_records──► key ["failed-logins","eve"] · the line · headers row_id, …

A record is the same as that which a row becomes that Spark has; see `spark.sinks.kafka`.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from processor_runtime.kafka.producing import Record

_LINE: Final = re.compile(
    rb'\{"kind":"match","processor_id":("[^"]*"),"version":\d+,"epoch":\d+,'
    rb'"match_id":"([0-9a-f]{32})","start_time":"[^"]*","end_time":"[^"]*",'
    rb'"start_ms":-?\d+,"end_ms":(-?\d+),"key":\['
)
_PLAIN_KEY: Final = re.compile(rb'((?:[^][{}"]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+)\]')
_KIND: Final = ("kind", b"match")


def match_records(lines: Iterable[bytes]) -> Iterator[Record]:
    """Yield the records of matches, in the order of the time at which they end.

    `lines`: the matches of one shard and batch; each text is some of them, without the end of the
    last. Of several of one id each is named by its own number.
    """
    found = []
    for text in lines:
        for line in text.split(b"\n"):
            begin = _LINE.match(line)
            if begin is None:
                raise AssertionError("a line of a match begins as `match_pieces` writes it")
            processor, match_id, end_ms = begin.groups()
            key = _PLAIN_KEY.match(line, begin.end())
            values = _nested_key(line, begin.end()) if key is None else key.group(1)
            found.append((int(end_ms), match_id, line, processor, values))
    found.sort()
    seen: Counter[bytes] = Counter()
    for _, match_id, line, processor, values in found:
        seen[match_id] += 1
        row_id = match_id if seen[match_id] == 1 else b"%b-%d" % (match_id, seen[match_id])
        yield Record(
            b"[%b,%b]" % (processor, values) if values else b"[%b]" % processor,
            b'{"row_id":"%b",%b' % (row_id, line[1:]),
            (("row_id", row_id), ("match_id", match_id), _KIND),
        )


def _nested_key(line: bytes, begin: int) -> bytes:
    """Return what is in the list of a key that has lists or objects in it."""
    text = line[begin - 1 :].decode()
    _, end = json.JSONDecoder().raw_decode(text)
    return text[1 : end - 1].encode()
