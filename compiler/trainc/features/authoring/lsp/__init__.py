"""The language server: an editor's questions about an open file, answered from a snapshot of its workspace."""
