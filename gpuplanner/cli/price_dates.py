"""Of when a price is, in words for a terminal. Ranks nothing and reads no price itself."""

from datetime import UTC, datetime

from gpuplanner.catalog.price_age import STALE_DAYS, age_days, whole_months, whole_years
from gpuplanner.cli.context import Context


def price_date(date: str, context: Context) -> str:
    """The date of a price, and how old it is where it may not hold any more."""
    days = age_days(date, datetime.now(UTC).date())
    if days is None:
        return context.text("catalogui.price.no_date")
    if days < STALE_DAYS:
        return date
    years = whole_years(days)
    if years < 2:
        return context.text("cli.recommend.price_age.months", date=date, months=whole_months(days))
    return context.text("cli.recommend.price_age.years", date=date, years=years)
