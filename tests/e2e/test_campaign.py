"""The kill campaign, short. The long one: ``python -m tests.e2e.campaign``."""

import pytest

from tests.e2e.campaign.__main__ import Campaign, Options

pytestmark = pytest.mark.e2e


def test_killed_under_load_the_ledger_is_what_it_acknowledged(daemon):
    said = []
    campaign = Campaign(Options(clients=32, calls=1500, kills=2, accounts=8), daemon, said.append)
    assert campaign.run() == []
    assert len(campaign.recoveries) == 2
    moved = [key for key, (_, answer) in campaign.log.answers.items() if answer.status == 200]
    assert len(moved) > 300, said


def test_the_campaign_would_see_a_lost_and_a_doubled_movement(daemon):
    """Without a kill; the log is doctored before the recount."""
    campaign = Campaign(Options(clients=4, calls=60, kills=0, accounts=2), daemon, lambda _: None)
    tell = campaign.log.acknowledge

    def doctored(call, body, answer):
        if call == "reserve" and body["request_id"].endswith("-1") and answer.status == 200:
            body = {**body, "amounts": {**body["amounts"], "tokens": body["amounts"]["tokens"] + 1}}
        tell(call, body, answer)

    campaign.log.acknowledge = doctored
    assert any("recounted" in fault or "acknowledged" in fault for fault in campaign.run())
