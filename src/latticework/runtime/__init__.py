"""Running plans: client, server, encrypted values, keys, devices. Knows plans, never the compiler."""
