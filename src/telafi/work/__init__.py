"""Run the unit once: begin, mark, effect, advance, commit."""
