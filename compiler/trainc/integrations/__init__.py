"""How other programs run trainc and read what it emits."""
