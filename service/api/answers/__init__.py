"""What calls answer with. The ledger writes these bodies; the models are for the document."""
