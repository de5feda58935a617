"""What others may not read: hidden and sealed fields, and paused programs on their way between sandbox hosts."""
