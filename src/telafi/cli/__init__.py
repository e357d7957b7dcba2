"""The command line: parses, prints, and knows nothing else; each command is loaded when it is used."""
