"""How runs and live sessions are named in the window: by their date, their tiers, their verdict."""

from datetime import UTC, datetime

from PySide6.QtCore import QDateTime, QLocale

from gpuplanner.acceptance.verdicts import Verdict as Judged
from gpuplanner.machines.history import KeptRun, KeptSession
from gpuplanner.messages import Language, Message, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.tokens import Verdict

_LOOKS = {
    Judged.PASS: Verdict.PASS,
    Judged.WARN: Verdict.WARN,
    Judged.FAIL: Verdict.FAIL,
    Judged.CANNOT_TELL: Verdict.UNKNOWN,
    Judged.SKIPPED: Verdict.UNKNOWN,
}

_MINUTES_FROM_S = 100


def when(iso: str, appearance: Appearance) -> str:
    """A time as the clock here shows it, in the order of the language; the year where it is another."""
    try:
        moment = datetime.fromisoformat(iso)
    except ValueError:
        return iso
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    local = QDateTime.fromSecsSinceEpoch(int(moment.timestamp())).toLocalTime()
    this_year = local.date().year() == QDateTime.currentDateTime().date().year()
    pattern = appearance.text("runsui.date" if this_year else "runsui.date.year")
    names = QLocale.Language.Chinese if appearance.language is Language.CHINESE else QLocale.Language.English
    return QLocale(names).toString(local, pattern)


def verdict_of(run: KeptRun) -> tuple[Verdict, Message]:
    """The verdict of a run as a mark and a word; of one that broke off, that."""
    if not run.whole:
        return Verdict.UNKNOWN, msg("runsui.not_whole")
    known = next((each for each in Judged if each.value == run.verdict), None)
    if known is None:
        return Verdict.UNKNOWN, msg("machinesui.state.new")
    word = "cannot_tell" if _LOOKS[known] is Verdict.UNKNOWN else known.value
    return _LOOKS[known], msg(f"machinesui.state.{word}")


def tiers(run: KeptRun) -> str:
    """The tiers of a run: "A + B"."""
    return " + ".join(run.tier.upper())


def lasted(session: KeptSession) -> Message:
    """That it was watched, and how long."""
    if session.seconds < _MINUTES_FROM_S:
        return msg("runsui.session.seconds", seconds=f"{session.seconds:.0f}")
    return msg("runsui.session.minutes", minutes=f"{session.seconds / 60:,.0f}")


def tip(run: KeptRun, appearance: Appearance) -> str:
    """What a run is, for a tooltip and for who cannot see the mark."""
    date, verdict = when(run.began, appearance), verdict_of(run)[1]
    if run.expected:
        return appearance.text(
            "runsui.run.against", when=date, verdict=verdict, tiers=tiers(run), expected=run.expected
        )
    return appearance.text("runsui.run", when=date, verdict=verdict, tiers=tiers(run))
