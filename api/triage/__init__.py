"""What people make of matches: status, assignee, notes; counted per rule, exported as labels."""
