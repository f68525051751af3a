"""Entity linking: which concept a value means, and why."""
