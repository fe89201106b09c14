"""What every room stands on: checks, files that are whole or absent, jobs, progress."""
