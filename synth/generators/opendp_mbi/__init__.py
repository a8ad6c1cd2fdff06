"""AIM and MST by OpenDP and mbi, the methods that ours are measured against."""
