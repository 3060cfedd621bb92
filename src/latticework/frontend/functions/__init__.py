"""Functions that programs call: exact on arrays, recorded on secrets."""
