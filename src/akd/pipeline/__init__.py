"""Jobs, run folders and results: what makes a motion a run that can be killed and resumed."""
