"""What attackers of limited capacity could learn from a release: a view beside epsilon, never in its place."""
