"""Exports of Nsight Systems: a database is summed up as text, which a parser reads as it reads any tool's output."""
