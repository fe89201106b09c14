"""What several analyses share, and what is too long for the file of one."""
