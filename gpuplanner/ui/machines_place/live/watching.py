"""What is watched now, or was watched and is shown again. Knows no widget: starts and ends the one process there."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from gpuplanner.messages import InputError, Message
from gpuplanner.probe.live_session import LiveSession
from gpuplanner.probe.telemetry import Telemetry
from gpuplanner.probe.transports import Lost
from gpuplanner.probe.transports.programs import SAMPLE
from gpuplanner.ui.machines_place.asking import Asker, Pending, Withdrawn
from gpuplanner.ui.machines_place.errands import Ways
from gpuplanner.ui.probing import Probe, Probing, Tell

INTERVAL_S = 0.1


class Watching:
    """One machine's samples. `changed` is called when there are more of them, `ended` when nothing runs any more, and
    `asked` when other questions wait (`pending`) on the way to it.
    """

    def __init__(
        self,
        probing: Probing,
        changed: Callable[[], object],
        ended: Callable[[], object],
        asked: Callable[[], object],
    ) -> None:
        self._probing = probing
        self._changed = changed
        self._ended = ended
        self._asked = asked
        self.pending: list[Pending] = []
        self._probe: Probe[bool] | None = None
        self.target = ""
        self.began = ""
        self.telemetry = Telemetry()
        self.gpus: dict[int, str] = {}
        self.absent: dict[str, str] = {}
        self.recorded = False
        self.trouble: Message | None = None

    @property
    def running(self) -> bool:
        """Whether samples still come."""
        return self._probe is not None and self._probe.running

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to show."""
        return not self.telemetry.series

    def start(self, target: str, ways: Ways) -> None:
        """Watch a machine from now on; what was watched before goes."""
        self.forget()
        self.target = target
        self.began = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        job: Mapping[str, Any] = {"interval_s": INTERVAL_S, "seconds": 0}

        async def work(tell: Tell) -> bool:
            return await ways.to(target, Asker(tell).answer).run(SAMPLE, job, tell, tell)

        self._probe = self._probing.start(work, self._heard, self._done, self._failed)

    def stop(self) -> None:
        """End the process there; what came stays."""
        if self._probe is not None:
            self._probe.cancel()
            self._leave()

    def answer(self, pending: Pending, text: str | None) -> None:
        """Answer a question, with None give up."""
        if pending in self.pending:
            self.pending.remove(pending)
            self._probing.call(lambda: pending.answer(text))
            self._asked()

    def forget(self) -> None:
        """Stop, and show nothing."""
        self.stop()
        self.telemetry = Telemetry()
        self.gpus, self.absent = {}, {}
        self.target = self.began = ""
        self.recorded, self.trouble = False, None

    def show_again(self, session: LiveSession) -> None:
        """Show what was watched before."""
        self.forget()
        self.telemetry, self.gpus = session.telemetry, dict(session.gpus)
        self.target, self.began, self.recorded = session.target, session.began, True

    def session(self) -> LiveSession:
        """What is to be kept."""
        return LiveSession(self.target, self.began, self.telemetry, dict(self.gpus))

    def _heard(self, told: list[Any]) -> None:
        for each in told:
            if isinstance(each, Pending):
                self.pending.append(each)
                self._asked()
            elif isinstance(each, Withdrawn):
                self._withdraw(each.pending)
            elif isinstance(each, Lost):
                self.trouble = each.why
            elif isinstance(each, dict):
                self._take(each)
        self._changed()

    def _take(self, frame: Mapping[str, Any]) -> None:
        match frame.get("frame"):
            case "sample":
                self.telemetry.take(frame)
            case "machine":
                gpus = frame.get("gpus")
                for gpu in gpus[:64] if isinstance(gpus, list) else []:
                    if isinstance(gpu, dict) and type(gpu.get("index")) is int:
                        self.gpus[gpu["index"]] = str(gpu.get("name", ""))[:100]
            case "without":
                self.absent[str(frame.get("what", ""))[:40]] = str(frame.get("reason", ""))[:60]

    def _done(self, _whole: bool) -> None:
        self._leave()

    def _failed(self, error: Exception) -> None:
        if not isinstance(error, InputError):
            self._leave()
            raise error
        self.trouble = error.message
        self._leave()

    def _leave(self) -> None:
        self._probe = None
        if self.pending:
            self.pending = []
            self._asked()
        self._ended()

    def _withdraw(self, pending: Pending) -> None:
        if pending in self.pending:
            self.pending.remove(pending)
            self._asked()
