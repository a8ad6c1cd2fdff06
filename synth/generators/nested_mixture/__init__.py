"""Related tables: a mixture over roots in which each component of a parent has components of its children."""
