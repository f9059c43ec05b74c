"""A Hugging Face Hub on the loopback interface, for tests that run the real clients.

The clients are huggingface_hub 2.4, hf_xet 1.8, datasets 5.2, evaluate 0.4.6 and transformers 5.24. The Hub answers
what these ask, with the fields that they read; what each request and each error looks like is said where it is made. It
is a model of the real Hub: the words of messages and the limits of sizes are taken from what clients expect.

``server.py`` starts it, ``clients.py`` says which environment a client needs, ``faults.py`` makes it fail on purpose.
By hand: ``python -m tests.hub --port 8765 --folder hub-state``.
"""
