"""What the names in a clause mean: columns, primary variables, union variables.

Source: ISO/IEC 19075-5, 4.15 and 5.2.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from cep.expression import DataType, Schema
from cep.expression.errors import near_name
from cep.expression.tree import Span
from cep.expression.types import UNKNOWN
from cep.row_pattern.bound import Variables
from cep.row_pattern.clause import Clause, Name, Variable, walk
from cep.row_pattern.errors import Mistake, refusal


@dataclass(frozen=True, slots=True)
class Names:
    """The columns of a schema and the variables of a clause.

    `primary` are the primary variables in order of their numbers, `unions` the numbers of the
    members of each union variable.
    """

    text: str
    schema: Schema | None
    primary: tuple[str, ...]
    unions: dict[str, frozenset[int]]

    def variables(self, name: Name) -> frozenset[int] | None:
        """Return the numbers a variable stands for; `None` if there is no such variable."""
        if name.folded in self.unions:
            return self.unions[name.folded]
        if name.folded in self.primary:
            return frozenset({self.primary.index(name.folded)})
        return None

    def known_variables(self) -> str:
        """Return all variables as a hint."""
        return f"the variables are: {', '.join([*self.primary, *self.unions])}"

    def column(self, path: Sequence[Name], span: Span) -> tuple[tuple[str, ...], DataType]:
        """Return the path of a column, or of a field inside it, as the rows have it, and its type.

        Raises:
            ClauseError: there is none, or several that differ in case only.
        """
        if self.schema is None:
            return tuple(name.text for name in path), UNKNOWN
        found: tuple[str, ...] = ()
        for name in path:
            known = self._below(found)
            spellings = [column for column in known if _is_same(name, column)]
            if name.text in spellings:
                spellings = [name.text]
            if len(spellings) > 1:
                message = f"{name.text} can be {' or '.join(spellings)}"
                hint = f'put it in double quotes: "{spellings[0]}"'
                raise refusal(self.text, span, Mistake.AMBIGUOUS_COLUMN, message, hint)
            if not spellings:
                raise self._unknown(path, name, known, span)
            found = (*found, spellings[0])
        return found, self.schema.type_of(found) or UNKNOWN

    def _below(self, path: tuple[str, ...]) -> list[str]:
        if self.schema is None:
            return []
        if not path:
            return [name for name, _ in self.schema.columns]
        data_type = self.schema.type_of(path)
        return [name for name, _ in data_type.fields] if data_type else []

    def _unknown(self, path: Sequence[Name], name: Name, known: list[str], span: Span) -> Exception:
        written = ".".join(part.text for part in path)
        if len(path) > 1 and name is path[0]:
            message = f"{name.text} is neither a variable of the pattern nor a column"
            hint = near_name(name.text, [*self.primary, *known]) or self.known_variables()
        else:
            message = f"there is no column {written}"
            hint = near_name(name.text, known) or f"there are: {', '.join(known) or 'none'}"
        return refusal(self.text, span, Mistake.UNKNOWN_COLUMN, message, hint)


def _is_same(name: Name, column: str) -> bool:
    return name.text == column or (not name.is_quoted and name.text.casefold() == column.casefold())


def names_of(clause: Clause, schema: Schema | None) -> Names:
    """Return the names of a clause; raises `ClauseError` if a SUBSET is not well formed."""
    found = (part.name.folded for part in walk(clause.pattern) if isinstance(part, Variable))
    names = Names(clause.text, schema, tuple(dict.fromkeys(found)), {})
    for subset in clause.subsets:
        name = subset.name
        if names.variables(name) is not None:
            message = f"{name.folded} is a variable of the pattern or another SUBSET already"
            raise refusal(clause.text, name.span, Mistake.SUBSET, message)
        members = set()
        for member in subset.members:
            if member.folded not in names.primary:
                message = f"{member.folded} is no primary variable of the pattern"
                hint = near_name(member.folded, names.primary) or names.known_variables()
                raise refusal(clause.text, member.span, Mistake.SUBSET, message, hint)
            members.add(names.primary.index(member.folded))
        names.unions[name.folded] = frozenset(members)
    return names


def universe(names: Names, qualifier: Name | None) -> Variables:
    """Return the variables of a qualifier that is known to be one; without one all rows."""
    return None if qualifier is None else names.variables(qualifier)
