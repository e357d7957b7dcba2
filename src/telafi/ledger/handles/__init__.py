"""One file a driver: statements run on a connection of that driver, ours or the one a user holds."""
