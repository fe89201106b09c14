"""One script per published table or figure."""
