"""What a pattern may say but its author rarely means; nothing is refused for it."""

from collections.abc import Iterator
from itertools import combinations

from cep.expression import Expression, Node, conjuncts, resolve, to_sql
from cep.expression.disjoint import are_disjoint, is_never_true
from cep.expression.evaluation.fold import folded
from cep.expression.tree import And, Literal
from cep.pattern.odd_parts import has_comparison_with_null, odd_part_warnings
from cep.pattern.problems import Problem
from cep.pattern.tree import Contiguity, Group, PatternTree, SkipKind, Step, WithinType
from cep.pattern.validation.pattern_rules import whole_window_ms
from cep.pattern.validation.places import Place, places
from cep.pattern.validation.window_rules import window_warnings


def warnings(tree: PatternTree) -> tuple[Problem, ...]:
    """Return what is worth a second look, in the order of the pattern."""
    all_places = tuple(places(tree))
    found = [warning for place in all_places for warning in _element_warnings(place)]
    found += _end_warnings(tree, all_places)
    if not whole_window_ms(all_places):
        found += _unbounded_warnings(tree, all_places)
    found += _skip_warnings(tree)
    found += _never_true_warnings(tree)
    found += _text_warnings(tree, all_places)
    found += window_warnings(tree)
    return tuple(found)


def _text_warnings(tree: PatternTree, all_places: tuple[Place, ...]) -> Iterator[Problem]:
    names = [step.name for step in tree.steps()]
    for place in all_places:
        element = place.element
        where = element.where if isinstance(element, Step) else None
        for key, condition in (("where", where), ("until", element.until)):
            if isinstance(condition, Expression):
                yield from odd_part_warnings(resolve(condition, names), f"{place.path}.{key}")


def _element_warnings(place: Place) -> Iterator[Problem]:
    element, path = place.element, place.path
    is_end = all(each.is_last for each in (place, *place.groups))
    if element.greedy and element.times is not None:
        if element.times.minimum == element.times.maximum:
            yield Problem(
                f"{path}.greedy", "greedy changes nothing on a fixed number of times.", "Drop it."
            )
        elif is_end:
            yield Problem(f"{path}.greedy", "greedy changes nothing on the last step.", "Drop it.")
    if element.contiguity is Contiguity.NOT_NEXT and is_end:
        yield Problem(
            f"{path}.contiguity",
            "a match waits for the next event of any kind, which is not part of it.",
            "If no event may come at all, use not_followed_by with a window.",
        )
    previous = place.previous
    if (
        isinstance(previous, Group)
        and previous.times is not None
        and previous.times.minimum != previous.times.maximum
        and element.contiguity is Contiguity.FOLLOWED_BY
    ):
        yield Problem(
            f"{path}.contiguity",
            "after a group that may repeat again, followed_by takes later events too, and the same "
            "match may come out twice.",
            "Add a skip strategy such as skip_past_last_event if only one is wanted.",
        )


def _end_warnings(tree: PatternTree, all_places: tuple[Place, ...]) -> Iterator[Problem]:
    skip = tree.after_match_skip.kind
    for place in all_places:
        times = place.element.times
        is_end = all(each.is_last for each in (place, *place.groups))
        if times is None or times.minimum == times.maximum or not is_end:
            continue
        came = f"as soon as this has come {times.minimum} times".replace(" 1 times", " once")
        if place.element.is_optional:
            came = "without it"
        more = (
            "and every further time makes another match"
            if skip is SkipKind.NO_SKIP
            else "and what comes after that is not part of it"
        )
        yield Problem(
            f"{place.path}.times",
            f"a match is complete {came}, {more}.",
            "Write a fixed number of times, or put a step behind it that ends the match.",
        )


def _unbounded_warnings(tree: PatternTree, all_places: tuple[Place, ...]) -> Iterator[Problem]:
    for place in all_places:
        if place.element.is_looping and place.element.until is None:
            yield Problem(
                f"{place.path}.times",
                "a loop without until in a pattern without a window never ends; its state grows.",
                "Add until, or a window to the pattern.",
            )
    zero = [
        place for place in all_places if place.element.window_ms(WithinType.FIRST_AND_LAST) == 0
    ]
    longer = any(place.element.window_ms(WithinType.FIRST_AND_LAST) for place in all_places)
    if zero and longer:
        yield Problem(
            f"{zero[0].path}.within",
            "a window of 0 means no window, also for the other first_and_last windows.",
            "Drop it.",
        )
    elif len(all_places) > 1 and not any(place.element.within for place in all_places):
        yield Problem(
            "within",
            "without a window every match that was begun is kept until it is complete.",
            "Add within.",
        )
    if tree.after_match_skip.kind is not SkipKind.NO_SKIP and len(all_places) > 1:
        yield Problem(
            "after_match_skip",
            "a match waits until no earlier begun one is open, without a window perhaps for ever.",
            "Add within.",
        )


def _skip_warnings(tree: PatternTree) -> Iterator[Problem]:
    skip = tree.after_match_skip
    if not skip.throw_on_miss or skip.step is None:
        return
    path = "after_match_skip.throw_on_miss"
    target = next((step for step in tree.steps() if step.name == skip.step), None)
    if target is tree.elements[0] and skip.kind is SkipKind.SKIP_TO_FIRST:
        yield Problem(
            path,
            f"every match that begins with '{skip.step}' fails: skipping to its start is no skip.",
            "Name a later step.",
        )
    elif isinstance(target, Step) and target.is_optional:
        yield Problem(
            path, f"a match without the optional '{skip.step}' fails.", "Leave out throw_on_miss."
        )


def _never_true_warnings(tree: PatternTree) -> Iterator[Problem]:
    """Yield a warning for every condition of a step or a loop that is proved to be never true.

    Comparisons with NULL are left out: `cep.pattern.odd_parts` warns of them, with the remedy.
    """
    names = [step.name for step in tree.steps()]
    for place in places(tree):
        element = place.element
        where = element.where if isinstance(element, Step) else None
        for key, condition, effect in (
            ("where", where, "No event can ever be taken by this step."),
            ("until", element.until, "No event can ever end this loop."),
        ):
            if isinstance(condition, Expression) and (
                reason := _never_true(_without_null(resolve(condition, names)))
            ):
                message = f"the condition is never true: {reason}."
                yield Problem(f"{place.path}.{key}", message, effect)


def _without_null(node: Node) -> Node:
    parts = tuple(part for part in conjuncts(node) if not has_comparison_with_null(part))
    return folded(And(parts)) if len(parts) > 1 else folded(next(iter(parts), Literal(value=True)))


def _never_true(node: Node) -> str:
    """Return why a condition is never true, or an empty text."""
    parts = list(conjuncts(node))
    for part in parts:
        if isinstance(part, Literal) and part.value is not True:
            return f"a part of it is always {'NULL' if part.value is None else 'FALSE'}"
    for one, other in combinations(parts, 2):
        if are_disjoint(one, other):
            return f"{to_sql(one)} and {to_sql(other)} exclude each other"
    return "its parts exclude each other" if is_never_true(node) else ""
