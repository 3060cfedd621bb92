"""Arrays, columns, numbers and files as users hand them in, checked and bounded."""
