"""The kill campaign: clients that never give up, a service that is killed under them.

``python -m tests.e2e.campaign --clients 64 --calls 20000 --kills 3 --accounts 20``
"""
