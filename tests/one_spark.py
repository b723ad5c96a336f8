"""How tests are given to processes: by file, and those that may need Spark all to one of them.

Each process that needs Spark starts a JVM, which is slow until it has compiled what it runs: on few
processors several of them cost more than they save.
"""

from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

DIRECTORIES = tuple(
    f"tests/processor_runtime/{directory}/" for directory in ("spark", "sinks", "sources")
)


class OneSparkScheduling(LoadFileScheduling):  # type: ignore[misc] # its base has no types
    """Gives files to whichever process is free, but those of these directories to one process."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return "spark" if file.startswith(DIRECTORIES) else file
