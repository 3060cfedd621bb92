"""Functions of one number: what every importer, step of the owner's, test and page knows of them, in one table."""
