"""Programs that run one library each, in a process and a virtual environment of their own."""
