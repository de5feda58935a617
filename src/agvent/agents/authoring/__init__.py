"""What a publisher writes: a class becomes a type and a portable program, an instance becomes an event."""
