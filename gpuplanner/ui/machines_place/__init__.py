"""The Machines place: reach a machine, run what reads or measures it, and see whether it is what was promised."""
