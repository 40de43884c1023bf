"""What is known of gaits: the table, the parameters of one gait on one body, and their measures."""
