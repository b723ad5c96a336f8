"""Builder, document and printed form show the same tree, without loss."""

import json

import yaml
from hypothesis import given

from cep.pattern import Pattern, PatternTree
from tests.pattern.random_trees import trees


@given(trees())
def test_a_document_makes_the_tree_it_was_made_of(tree: PatternTree) -> None:
    assert Pattern.from_document(Pattern(tree).to_document()).tree == tree


@given(trees())
def test_yaml_and_json_make_the_tree_they_were_made_of(tree: PatternTree) -> None:
    pattern = Pattern(tree)
    assert Pattern.from_yaml(pattern.to_yaml()).tree == tree
    assert Pattern.from_json(pattern.to_json()).tree == tree
    assert json.loads(pattern.to_json()) == pattern.to_document()
    assert yaml.safe_load(pattern.to_yaml()) == pattern.to_document()


@given(trees())
def test_the_printed_calls_build_the_tree_they_were_printed_from(tree: PatternTree) -> None:
    assert Pattern.parse(str(Pattern(tree))).tree == tree
