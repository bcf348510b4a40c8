"""Text to valid documents: reading, templates, dialects, overlays, schema, resolution and patches."""
