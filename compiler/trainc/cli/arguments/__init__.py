"""What the help of each command says, and the words that it takes: all that is imported until these are known to be right."""
