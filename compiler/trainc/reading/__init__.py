"""Reading: bytes to values exactly as kubectl reads them, with positions for whoever asks."""
