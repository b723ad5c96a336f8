"""The rule store and notifications of its changes; tables belong to the slices."""
