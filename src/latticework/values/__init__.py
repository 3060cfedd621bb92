"""Values as users pass them and as ciphertexts hold them: arrays, columns, numbers, and how they lie in slots."""
