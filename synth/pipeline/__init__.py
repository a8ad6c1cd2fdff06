"""The way of one run, from request to release: request, approval, budget, curator, fit, rows."""
