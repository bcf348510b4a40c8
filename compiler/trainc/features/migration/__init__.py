"""What brings jobs of older APIs over."""
