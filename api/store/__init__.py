"""The rule store and how others hear of its changes; tables belong to the slices."""
