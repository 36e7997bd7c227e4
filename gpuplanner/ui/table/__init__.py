"""Tables: columns, rows that come in pages beside the window, a header with units, copying, and a chooser of columns.

Make a `DataTable` from `Column`s and a `Source`; give it another source when the filters change.
"""
