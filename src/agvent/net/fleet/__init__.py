"""Networks of brokers on this machine: started, watched and stopped, their keys made, their journals read as a log."""
