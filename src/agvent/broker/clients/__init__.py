"""The clients that are at home here: attached, asking, publishing, moving, leaving.

Rule of this layer: what a client says is checked before it changes anything; a refusal names the reason.
"""
