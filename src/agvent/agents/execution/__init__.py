"""Programs as they run: the sandbox's interface, questions and answers, resident agvents, quarantine."""
