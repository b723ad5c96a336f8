"""Many rules over many keys: rules of equal shape in one machine, keys, kinds of events."""
