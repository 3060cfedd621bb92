"""How values, names and numbers are written in messages: leaves that every other room may use."""
