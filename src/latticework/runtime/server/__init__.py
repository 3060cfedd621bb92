"""The server: runs plans on ciphertexts, within memory, on devices, with checkpoints."""
