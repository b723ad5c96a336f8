"""From a pattern tree to the immutable program that `cep.nfa.machine` runs."""
