"""The release card: what is guaranteed, stated so that anybody can derive its figures again."""
