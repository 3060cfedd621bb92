#!/bin/sh
# The suite's driver calls this before it builds; there is nothing to fetch.
