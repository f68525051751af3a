"""The page of closed answers."""
