"""The campaign, short. The long one: ``make campaign MINUTES=60``."""

import random
from pathlib import Path

import pytest

from tests.e2e.campaign.campaign import Campaign, Options
from tests.e2e.campaign.faults import KILLS_AND_CUTS
from tests.e2e.campaign.log import Log
from tests.e2e.campaign.stage import Stage
from tests.support.daemon import Daemon

pytestmark = pytest.mark.e2e


@pytest.fixture
def campaign():
    """Makes a campaign in a directory that PostgreSQL may enter."""
    with Daemon.scratch() as place:

        def make(**options):
            chosen = Options(**options)
            stage = Stage(Path(place), chosen.workers, random.Random(chosen.seed))
            return Campaign(chosen, stage)

        yield make


def is_nearly_all_decided(figures):
    return figures.counts["histories undecided"] * 20 <= figures.counts["histories checked"]


async def test_whatever_fails_under_load_the_ledger_is_what_it_acknowledged(campaign):
    figures = await campaign(minutes=0.75, clients=32, pause_seconds=1).run()
    assert figures.mismatches == []
    assert sum(figures.faults[name] for name in KILLS_AND_CUTS) >= 3, figures.faults
    assert figures.counts["acknowledged decisions checked"] > 100, figures
    assert is_nearly_all_decided(figures), figures.counts


@pytest.mark.parametrize("workers", [1, 4])
async def test_what_64_clients_are_answered_at_once_is_linearizable_by_window(campaign, workers):
    played = campaign(clients=64, workers=workers, pause_seconds=0)
    async with played.opened():
        await played.round(5)
    assert played.figures.mismatches == []
    assert played.figures.counts["histories checked"] > 50
    assert is_nearly_all_decided(played.figures), played.figures.counts
    assert played.figures.answers["reserve 402"], played.figures.answers


class Doctored(Log):
    """Remembers one token more of the first reservation than was asked for."""

    remembers_wrongly = False

    def acknowledge(self, key, body, said, times):
        if not self.remembers_wrongly and key[0] == "reserve" and "amounts" in body:
            self.remembers_wrongly = True
            body = {**body, "amounts": {**body["amounts"], "tokens": body["amounts"]["tokens"] + 1}}
        return super().acknowledge(key, body, said, times)

    def move(self, window, times, **moved):
        """And forgets one movement."""
        if self.histories:
            super().move(window, times, **moved)
        else:
            self.histories[window] = []


@pytest.mark.slow
async def test_the_campaign_sees_a_changed_answer_and_a_lost_movement(campaign):
    played = campaign(clients=4, workers=1, pause_seconds=0)
    played.new_log = Doctored
    async with played.opened():
        await played.round(2)
    kinds = {what.partition(":")[0] for what in played.figures.mismatches}
    assert {"lost", "mismatches", "not linearizable"} <= kinds, played.figures.mismatches
