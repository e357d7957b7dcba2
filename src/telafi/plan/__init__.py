"""What is due, under which key: pure functions, no I/O, no clock."""
