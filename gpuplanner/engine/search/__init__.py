"""The search over ways of running and machines: `searching.search` is the way in, a `Space` is what a kind gives it."""
