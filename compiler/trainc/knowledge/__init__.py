"""What is known about programs, their variables and files, and devices: tables as data, and the language of their rows."""
