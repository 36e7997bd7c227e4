"""A small Levenberg-Marquardt solver, so that fitting needs nothing beyond NumPy."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


def solve(
    residuals: Callable[[Vector], Vector],
    start: Vector,
    iterations: int = 40,
    step: float = 1e-3,
    moved_residuals: Callable[[Vector, Vector, int], Vector] | None = None,
) -> Vector:
    """The parameters that make the sum of squared residuals smallest, from `start` on.

    `moved_residuals(moved, r, i)`: those of parameters of which only the one of index `i` differs from the parameters
    of the residuals `r`, for a function that knows which of them that one changes.
    """
    x = start.copy()
    r = residuals(x)
    cost, damping = float(r @ r), 1e-2
    for _ in range(iterations):
        jacobian = np.empty((r.size, x.size))
        for i in range(x.size):
            moved = x.copy()
            moved[i] += step
            there = residuals(moved) if moved_residuals is None else moved_residuals(moved, r, i)
            jacobian[:, i] = (there - r) / step
        normal, gradient = jacobian.T @ jacobian, jacobian.T @ r
        improved = False
        for _ in range(8):
            delta = np.linalg.solve(normal + damping * np.diag(np.diag(normal) + 1e-9), -gradient)
            tried = x + np.clip(delta, -0.5, 0.5)
            r_tried = residuals(tried)
            tried_cost = float(r_tried @ r_tried)
            if np.isfinite(tried_cost) and tried_cost < cost:
                gain = (cost - tried_cost) / cost
                x, r, cost, improved = tried, r_tried, tried_cost, gain > 1e-4
                damping = max(damping / 4, 1e-8)
                break
            damping *= 5
        if not improved:
            break
    return x
