"""How old a price is. Asks no clock: the day of today is given."""

from datetime import date as date_type

STALE_DAYS = 183
"""From this age on a price says how old it is: cloud prices change about twice a year."""
_YEAR_DAYS = 365.25
_MONTH_DAYS = _YEAR_DAYS / 12


def age_days(date: str, today: date_type) -> int | None:
    """How old a date is; one that is not to the day is as old as it can be. None for no date."""
    padded = {4: f"{date}-01-01", 7: f"{date}-01"}.get(len(date), date[:10])
    try:
        return max(0, (today - date_type.fromisoformat(padded)).days)
    except ValueError:
        return None


def whole_months(days: int) -> int:
    """So many days in whole months."""
    return int(days / _MONTH_DAYS)


def whole_years(days: int) -> int:
    """So many days in whole years."""
    return int(days / _YEAR_DAYS)
