"""The formulas: one pure function each, for floats, arrays and explanations alike."""
