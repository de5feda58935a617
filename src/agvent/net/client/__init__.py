"""The client's side: what a program calls, and the connection that keeps its session attached.

Rule of this layer: it does not import the server.
"""
