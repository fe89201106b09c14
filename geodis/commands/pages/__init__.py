"""Commands that write a page."""
