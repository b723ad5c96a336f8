"""Trees of expressions rewritten: placeholders filled in, operators as the standard has them."""

from cep.expression import Field, Kind, Node, Schema
from cep.expression.checking.inference import type_of
from cep.expression.rewrite import rebuilt
from cep.expression.tree import Call, Comparison, ComparisonOperator, Not


def replaced(node: Node, nodes: dict[str, Node]) -> Node:
    """Return the tree with each field of one of these names replaced by its node."""
    if isinstance(node, Field) and len(node.path) == 1 and node.path[0] in nodes:
        return nodes[node.path[0]]
    return rebuilt(node, lambda child: replaced(child, nodes))


def in_the_standard(node: Node, schema: Schema) -> Node:
    """Return the tree with the operators that mean something else in the SQL standard."""
    node = rebuilt(node, lambda child: in_the_standard(child, schema))
    match node:
        case Call(function="/", arguments=arguments, span=span):
            return Call("ISO_DIVIDE", arguments, span)
        case Call(function="%", arguments=arguments, span=span):
            return Call("ISO_MODULO", arguments, span)
        case Comparison(operator=operator, left=left, right=right, span=span) if operator in {
            ComparisonOperator.EQUAL,
            ComparisonOperator.NOT_EQUAL,
        } and _is_array(left, schema):
            same = Call("ARRAY_EQUALS", (left, right), span)
            return same if operator is ComparisonOperator.EQUAL else Not(same, span)
        case _:
            return node


def _is_array(node: Node, schema: Schema) -> bool:
    return type_of(node, schema).kind is Kind.ARRAY
