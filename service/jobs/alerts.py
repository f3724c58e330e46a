"""Deliver the outbox: each message at least once, signed as Standard Webhooks say.

A message is taken, posted, and confirmed when the receiver has answered with a 2xx. Taking it puts
its next attempt off, so nothing has to be written when a delivery fails or its worker dies: it is
due again by itself, after a pause that doubles each time.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from math import ceil
from typing import Self

from standardwebhooks.webhooks import Webhook

from service import metrics
from service.jobs.loop import Loop
from service.jobs.outgoing import client_of_environment
from service.ledger import Alert, Ledger
from service.settings import Settings

__all__ = ["BATCH", "Alerts"]

BATCH = 20
"""Messages that one worker posts at once."""

_SLACK_SECONDS = 2.0
"""What taking and confirming may cost on top of the posts: no other worker takes them meanwhile."""


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
        async with self._client, super().running():
            yield

    async def _one_batch(self) -> bool:
        due = await self._ledger.take_alerts(BATCH, self._retry_seconds)
        if due:
            await self._deliver(due)
        return len(due) >= BATCH

    async def _deliver(self, due: Sequence[Alert]) -> None:
        failures = await asyncio.gather(*(self._post(alert) for alert in due))
        delivered = [a.message_id for a, why in zip(due, failures, strict=True) if why is None]
        metrics.ALERTS.labels("failed").inc(len(due) - len(delivered))
        if delivered:
            await self._ledger.confirm_alerts(delivered)
            metrics.ALERTS.labels("delivered").inc(len(delivered))
        for why in sorted({why for why in failures if why is not None}):
            self._log.warning("alerts_not_delivered", cause=why, count=failures.count(why))

    async def _post(self, alert: Alert) -> str | None:
        """Post one message; why it is not delivered, if it is not."""
        content = _content(alert)
        try:
            async with asyncio.timeout(self._timeout):
                return await self._send(content, self._headers(str(alert.message_id), content))
        except TimeoutError:
            return "timeout"
        except Exception as error:  # noqa: BLE001  # whatever it is, it is tried again
            return type(error).__name__

    async def _send(self, content: str, headers: dict[str, str]) -> str | None:
        async with self._client.stream(
            "POST", self._url, content=content, headers=headers
        ) as response:
            return None if response.is_success else f"status {response.status_code}"

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
