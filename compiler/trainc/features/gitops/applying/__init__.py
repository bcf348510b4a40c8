"""What Argo CD and Flux apply of the outputs, as far as the repository says it."""
