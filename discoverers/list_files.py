"""Lists in files: documents with `list`, their values beside them, followed as they change.

    documents + signatures of their files ──► ListFiles ──► SnapshotList, contents, problems

Files of values may be large. They are read when their size, their time or the file itself is
another, and taken if they are the same after they were read.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cep.definition.given_lists import GivenList, UnreadableList
from cep.definition.list_documents import ListFile, read_list
from cep.list_content import list_values
from contract.snapshot import SnapshotList, SnapshotListVersion
from discoverers.found import ProcessorProblem


@dataclass(frozen=True, slots=True)
class FoundList:
    """The document of a list, and the file it was found in."""

    document: ListFile
    origin: str

    @property
    def values_file(self) -> Path | None:
        """The file with its values, `None` if the document holds them."""
        return None if self.document.file is None else Path(self.origin).parent / self.document.file


Signature = tuple[int, int, int] | None
"""Size, time and number of a file; `None` if it is not there."""
_State = tuple[str, str, Signature]


def signatures(found: Iterable[FoundList]) -> dict[str, Signature]:
    """Return the signatures of the files with values, by path."""
    files = {file for each in found if (file := each.values_file) is not None}
    return {str(file): _signature(file) for file in sorted(files)}


@dataclass(frozen=True, slots=True)
class ReadLists:
    """The lists that can be looked into, the contents they name, and what is wrong with others."""

    lists: tuple[SnapshotList, ...] = ()
    contents: Mapping[str, bytes] = field(default_factory=dict)
    problems: tuple[ProcessorProblem, ...] = ()


@dataclass(slots=True)
class ListFiles:
    """Reads the lists of a stream, each again only if it is another by then.

    A list that cannot be read stays as it was: `last_good`, those of the snapshot before.
    """

    last_good: Mapping[str, SnapshotList]
    _known: Mapping[_State, GivenList] = field(default_factory=dict)
    _origins: Mapping[str, str] = field(default_factory=dict)

    def read(
        self,
        found: Sequence[FoundList],
        signed: Mapping[str, Signature],
        troubled: Collection[str],
        kept: Mapping[str, bytes],
    ) -> ReadLists:
        """Return the lists in documents.

        Args:
            found: the documents.
            signed: the signatures of their files, by path.
            troubled: origins that could not be read in full.
            kept: the contents of the snapshot before, by digest.
        """
        known: dict[_State, GivenList] = {}
        problems: list[ProcessorProblem] = []
        origins: dict[str, str] = {}
        counts = Counter(each.document.name for each in found)
        for each in found:
            name = each.document.name
            state = each.origin, each.document.model_dump_json(), signed.get(str(each.values_file))
            try:
                other = origins.setdefault(name, each.origin)
                if counts[name] > 1:
                    raise _several(each, other)
                known[state] = self._known.get(state) or _given(each)
            except UnreadableList as error:
                problems.append(ProcessorProblem(each.origin, f"list {name}: {error}"))
        good = {each.name: _snapshot_list(each) for each in known.values()}
        contents = {each.digest: each.content for each in known.values()}
        wrong = {*troubled, *(problem.origin for problem in problems)}
        for name, before in self.last_good.items():
            # Without an origin it came from a checkpoint: it may be in whatever cannot be read.
            is_lost = self._origins.get(name) in wrong if name in self._origins else bool(wrong)
            if name not in good and is_lost:
                good[name] = before
                origins.setdefault(name, self._origins.get(name, ""))
                digests = {version.digest for version in before.versions}
                contents |= {digest: kept[digest] for digest in digests & kept.keys()}
        self._known, self._origins, self.last_good = known, origins, good
        return ReadLists(tuple(good[name] for name in sorted(good)), contents, tuple(problems))


def _several(found: FoundList, first: str) -> UnreadableList:
    return UnreadableList(Path(found.origin), f"there are several, the first in {first}; keep one")


def _given(found: FoundList) -> GivenList:
    given = read_list(Path(found.origin), found.document)
    if given is None:
        message = "neither file nor values; without a service nobody else has them"
        raise UnreadableList(Path(found.origin), message)
    return given


def _snapshot_list(given: GivenList) -> SnapshotList:
    # Where a source does not number, assembly does.
    version = SnapshotListVersion(
        version=1,
        effective_from_ms=None,
        digest=given.digest,
        count=len(list_values(given.data_type, given.content)),
    )
    return SnapshotList(name=given.name, type=given.data_type, versions=[version])


def _signature(file: Path) -> Signature:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ino
