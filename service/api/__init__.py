"""The REST API: one file per resource, and what they share.

values, strict      what a field may be, and the one decoder of bodies
operation, openapi  what an operation promises, and the document made of it
auth, query, paths  who asks, the query string, ids in URLs
problems, vendors   refusals as problem+json, or in a vendor's envelope
calls, admin        the way of a call to the ledger and back
"""
