"""Only one copy at this moment: locks of the operating system, and who is alive."""
