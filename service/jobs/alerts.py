"""Deliver the outbox: each message at least once, signed as Standard Webhooks say.

A message is taken, posted, and confirmed as soon as the receiver has answered with a 2xx, whatever
the others of its batch wait for. Taking it puts its next attempt off, so nothing has to be written
when a delivery fails or its worker dies: it is due again by itself, after a pause that doubles each
time.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterable, Sequence
from datetime import UTC, datetime
from math import ceil
from typing import Self

import httpx
from standardwebhooks.webhooks import Webhook

from service import metrics
from service.jobs.loop import Loop
from service.jobs.outgoing import client_of_environment
from service.ledger import Alert, Ledger, LedgerError
from service.settings import Settings

__all__ = ["BATCH", "Alerts"]

BATCH = 20
"""Messages that one worker posts at once."""

_SLACK_SECONDS = 2.0
"""What taking and confirming may cost on top of the posts: no other worker takes them meanwhile."""


_LAST_SECONDS = 1.0
"""What the last confirmation may take when the service stops."""


class Alerts(Loop):
    """The loop. Its client is open while it runs."""

    name = "alerts"

    def __init__(self, ledger: Ledger, settings: Settings, url: str, secret: str) -> None:
        super().__init__(settings.webhook_interval_seconds)
        self._ledger = ledger
        self._url = url
        self._webhook = Webhook(secret)
        self._timeout = settings.webhook_timeout
        hold = settings.webhook_timeout + _SLACK_SECONDS
        self._retry_seconds = ceil(max(settings.webhook_retry_seconds, hold))
        self._answered: list[int] = []
        """What the receiver has and is not confirmed yet, in the order of the answers."""
        self._client = client_of_environment(settings.webhook_timeout)

    @classmethod
    def of(cls, settings: Settings, ledger: Ledger) -> Self | None:
        """The loop, if there is somebody to tell.

        Raises:
            EnvironmentRefusedError: no client can be made of what the environment says.
        """
        if settings.webhook_url is None or settings.webhook_secret is None:
            return None
        return cls(ledger, settings, settings.webhook_url, settings.webhook_secret)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run beside the service, once: at the end its client is closed."""
        async with self._client:
            try:
                async with super().running():
                    yield
            finally:
                # What was answered while the loop was being stopped, or while the store was away.
                with contextlib.suppress(LedgerError, TimeoutError):
                    await asyncio.wait_for(self._confirm(), _LAST_SECONDS)

    async def _one_batch(self) -> bool:
        await self._confirm()
        due = await self._ledger.take_alerts(BATCH, self._retry_seconds)
        if due:
            await self._deliver(due)
        return len(due) >= BATCH

    async def _deliver(self, due: Sequence[Alert]) -> None:
        posts = [asyncio.create_task(self._post(alert)) for alert in due]
        try:
            await self._confirm_each(posts)
        finally:
            for post in posts:
                post.cancel()
            await asyncio.gather(*posts, return_exceptions=True)
        failures = [why for post in posts if (why := post.result()) is not None]
        metrics.ALERTS.labels("failed").inc(len(failures))
        for why in sorted(set(failures)):
            self._log.warning("alerts_not_delivered", cause=why, count=failures.count(why))
        await self._confirm()

    async def _confirm_each(self, posts: Iterable[asyncio.Task[str | None]]) -> None:
        """Confirm answers as they come; those that come during one confirmation share the next."""
        waiting = set(posts)
        while waiting:
            _, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            with contextlib.suppress(LedgerError):  # they stay in the list: the last try tells
                await self._confirm()

    async def _confirm(self) -> None:
        """Note what has been answered. Until that is done it stays, to be tried again."""
        if answered := list(self._answered):
            await self._ledger.confirm_alerts(answered)
            del self._answered[: len(answered)]
            metrics.ALERTS.labels("delivered").inc(len(answered))

    async def _post(self, alert: Alert) -> str | None:
        """Post one message; why it is not delivered, if it is not."""
        try:
            async with asyncio.timeout(self._timeout):
                response = await self._client.send(self._request(alert), stream=True)
        except TimeoutError:
            return "timeout"
        except Exception as error:  # noqa: BLE001  # whatever it is, it is tried again
            return type(error).__name__
        if response.is_success:
            self._answered.append(alert.message_id)
        with contextlib.suppress(Exception):  # it has answered, however it hangs up
            await asyncio.wait_for(response.aclose(), self._timeout)
        return None if response.is_success else f"status {response.status_code}"

    def _request(self, alert: Alert) -> httpx.Request:
        content = _content(alert)
        headers = self._headers(str(alert.message_id), content)
        return self._client.build_request("POST", self._url, content=content, headers=headers)

    def _headers(self, message_id: str, content: str) -> dict[str, str]:
        now = datetime.now(UTC)
        return {
            "content-type": "application/json",
            "webhook-id": message_id,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": self._webhook.sign(message_id, now, content),
        }


def _content(alert: Alert) -> str:
    return json.dumps(
        {
            "type": alert.topic,
            "timestamp": alert.created_at.astimezone(UTC).isoformat(),
            "data": json.loads(alert.body),
        },
        ensure_ascii=False,
        separators=(",", ":"),
    )
