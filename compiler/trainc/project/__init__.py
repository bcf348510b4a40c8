"""What a repository has decided: trainc.yaml, overlays, and the dialects its documents are written in."""
