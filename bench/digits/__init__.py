"""The digits demo's network, encrypted, on our core and by hand on Microsoft SEAL."""
