"""What the tests with real processes share: a cluster, clients that speak its protocol, and the frame of a test."""
