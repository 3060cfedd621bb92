"""Exported programs run by OpenFHE, beside ours and NumPy; and its ciphertexts beside ours."""
