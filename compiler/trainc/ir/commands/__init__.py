"""What a container's command line starts: shell text read as a shell reads it, and launchers with their options."""
