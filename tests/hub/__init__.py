"""A Hugging Face Hub on the loopback interface, for tests that run the real clients.

``server.py`` starts it, ``clients.py`` says which environment a client needs, ``faults.py`` makes it fail on purpose.
By hand: ``python -m tests.hub --port 8765 --folder /tmp/hub-state``.
"""
