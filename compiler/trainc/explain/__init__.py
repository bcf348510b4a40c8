"""An explanation as people and programs read it: which fields are asked for, as text, and as JSON."""
