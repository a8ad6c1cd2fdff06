"""The steward's report: compares with real rows, is marked on every page, and is no part of a release."""
