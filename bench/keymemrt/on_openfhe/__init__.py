"""KeyMemRT on a library that people run: programs whose rotation keys come from files and go, on OpenFHE."""
