"""Programs that other compilers wrote."""
