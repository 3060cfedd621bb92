"""The commands of the command line, a module each; `cli.py` loads the one that is called."""
