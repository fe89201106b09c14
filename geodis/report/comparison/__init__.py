"""Several runs on one page: what each scores, what differs beyond noise, how alike they are."""
