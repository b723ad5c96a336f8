"""Which lists of its stream a pattern names, whatever it is written in.

pattern ──list_names──► names ──► the loader of the pattern supplies their values
        ──with_list_values──► the same, where no schema is known to bring them with
"""

from collections.abc import Iterator
from dataclasses import replace

from cep.expression import Expression, Schema
from cep.expression.checking.resolve import with_lists
from cep.expression.lists import ValueList
from cep.expression.tree import Node, lists_in
from cep.pattern.conditions import expressions_of
from cep.pattern.rewriting import with_conditions
from cep.pattern.tree import Condition, PatternTree
from cep.row_pattern.clause import Query


def list_names(form: PatternTree | Query) -> tuple[str, ...]:
    """Return the names of the lists that conditions name, in order."""
    names = {found.name for root in _roots(form) for found in lists_in(root)}
    return tuple(sorted(names))


def with_list_values(
    form: PatternTree | Query, lists: tuple[ValueList, ...]
) -> PatternTree | Query:
    """Return a pattern whose conditions look into these lists."""
    schema = Schema((), lists)

    def rewrite(condition: Condition, _path: str) -> Condition:
        if not isinstance(condition, Expression):
            return condition
        return replace(condition, root=with_lists(condition.root, schema))

    if isinstance(form, PatternTree):
        return with_conditions(form, rewrite)
    definitions = tuple(
        replace(each, condition=replace(each.condition, root=with_lists(root, schema)))
        for each in form.clause.definitions
        for root in [each.condition.root]
    )
    return replace(form, clause=replace(form.clause, definitions=definitions))


def _roots(form: PatternTree | Query) -> Iterator[Node]:
    if isinstance(form, PatternTree):
        return (expression.root for expression in expressions_of(form.elements))
    return (definition.condition.root for definition in form.clause.definitions)
