"""Our core beside OpenFHE and Microsoft SEAL on the same work, in turns."""
