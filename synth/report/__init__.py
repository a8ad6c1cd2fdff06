"""Pages for people: the steward's report, the publishable report, the release card. None needs a network or a script.

Charts are drawn here as SVG, once, so a page has no plotting script to carry, opens anywhere and can be printed.
"""
