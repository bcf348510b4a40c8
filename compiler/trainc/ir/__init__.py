"""The typed middle: what plugins see, whatever dialect or release the input was written for."""
