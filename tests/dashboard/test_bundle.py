"""All modules of the dashboard in one file: the same text, which runs as the modules would."""

import json
import re
from itertools import accumulate

import pytest

from api.dashboard.assets import STATIC_FOLDER, read_assets
from api.dashboard.bundle import BUNDLE_PATH, MAP_PATH, bundled
from api.dashboard.imports import ENTRY

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def linked(source: str, **others: str) -> str:
    sources = {f"js/{name}.js": text for name, text in others.items()}
    return bundled({ENTRY: source, **sources})[0]


def differences(step: str) -> list[int]:
    """Read the numbers of one step of a source map."""
    numbers, value, shift = [], 0, 0
    for letter in step:
        digit = LETTERS.index(letter)
        value |= (digit & 31) << shift
        shift += 5
        if not digit & 32:
            numbers.append(-(value >> 1) if value & 1 else value >> 1)
            value, shift = 0, 0
    return numbers


def test_every_line_of_every_module_is_where_the_map_says() -> None:
    files = read_assets().files
    lines = files[BUNDLE_PATH].body.decode().split("\n")
    told = json.loads(files[MAP_PATH].body)
    steps = [differences(step) for step in told["mappings"].split(";")]
    places = [step or [0, 0, 0, 0] for step in steps]
    at_source = list(accumulate(place[1] for place in places))
    at_line = list(accumulate(place[2] for place in places))
    texts = [
        (STATIC_FOLDER / name.removeprefix("../")).read_text(encoding="utf-8").split("\n")
        for name in told["sources"]
    ]
    assert len(texts) == len(list((STATIC_FOLDER / "js").rglob("*.js")))
    mapped = [set[int]() for _ in texts]
    for number, step in enumerate(steps):
        if step:
            source, line = at_source[number], at_line[number]
            mapped[source].add(line)
            changed = re.compile(r"import|export|\} from ")
            if not changed.search(texts[source][line]):
                assert lines[number] == texts[source][line]
    for text, seen in zip(texts, mapped, strict=True):
        assert seen == set(range(len("\n".join(text).rstrip().split("\n"))))


def test_imports_and_exports_are_linked() -> None:
    text = linked(
        'import {\n  a,\n  b as c,\n} from "./other.js";\nexport const d = import.meta.url;\n',
        other="export async function a() {}\nexport default function b() {}\nexport class E {}",
    )
    assert (
        'const {\n  a,\n  b: c,\n} = use("js/other.js");\nconst d = new URL("../js/main.js"' in text
    )
    assert "return { a, default: b, E };" in text


def test_a_page_that_is_imported_later_waits_for_its_libraries() -> None:
    text = linked(
        'const open = () => import("./page.js");',
        page='import { drawn } from "./drawn.js";',
        drawn='import { plot } from "../vendor/plot.js";\nexport const drawn = plot;',
    )
    assert 'const open = () => load("js/page.js", ["vendor/plot.js"]);' in text
    assert text.rstrip().endswith('load("js/main.js", []);\n//# sourceMappingURL=console.js.map')


@pytest.mark.parametrize(
    "line",
    [
        'import * as all from "./other.js";',
        'import "./other.js";',
        'export * from "./other.js";',
        "export { a };",
        "export let a = 1;",
        "await ready;",
    ],
)
def test_a_form_that_cannot_be_linked_is_refused_with_its_line(line: str) -> None:
    with pytest.raises(
        ValueError, match=re.escape(f"js/main.js, line 2: no form that can be bundled: {line}")
    ):
        linked(f"// One.\n{line}", other="")


def test_a_circle_is_refused() -> None:
    circle = {"a": 'import { b } from "./b.js";', "b": 'import { a } from "./a.js";'}
    with pytest.raises(ValueError, match=r"js/a\.js imports itself through other modules"):
        linked("", **circle)
