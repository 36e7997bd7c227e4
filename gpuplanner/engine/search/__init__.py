"""Ways of running × machines of the catalog, under constraints, by an objective; and for each offer left out, why."""

from gpuplanner.engine.search.result import Broken, Candidate, Rejection, SearchResult
from gpuplanner.engine.search.searching import search

__all__ = ["Broken", "Candidate", "Rejection", "SearchResult", "search"]
