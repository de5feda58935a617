"""What brokers' journals say, as rows of the event log: for whoever runs brokers, in the simulator or on a network."""
