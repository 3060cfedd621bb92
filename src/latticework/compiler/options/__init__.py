"""Options of `lw.compile`: one record each, with its check, what documentation and commands say, and who takes it."""
