"""What there is to say about a compilation: where its fields come from, what they change, and how they look."""
