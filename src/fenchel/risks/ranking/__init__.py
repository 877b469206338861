"""Risks of rankings: means over queries of losses of the scores of a query's rows."""
