"""The client: makes keys, checks and encrypts inputs, decrypts outputs."""
