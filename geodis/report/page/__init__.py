"""The page: templates, style, script and figures that become one file."""
