from __future__ import annotations

from dataclasses import replace

import pytest

from geco.sizing.job import Job, Propagation
from geco.sizing.memory import memory
from geco.sizing.plan import Machine, Plan, fewest

MACHINE = Machine(memory=16e9, bandwidth=1e9, speed=1e12)


@pytest.mark.parametrize("each", [2e9, 5e9, 16e9, 100e9])
@pytest.mark.parametrize("cut", [0.1, None])
@pytest.mark.parametrize("propagation", ["halo", "auto"])
def test_fewest_is_the_first_that_fits(each: float, cut: float | None, propagation: Propagation) -> None:
    job = Job(10**7, 10**8, cut=cut, propagation=propagation)
    found = fewest(job, each)
    if found is None:
        assert min(sum(memory(replace(job, workers=2**k)).values()) for k in range(17)) > each
        return
    fits = [Plan(replace(job, workers=p), replace(MACHINE, memory=each)).fits for p in range(1, found + 1)]
    assert fits == [False] * (found - 1) + [True]


def test_what_each_worker_has_whole_may_never_fit() -> None:
    assert fewest(Job(10**8, 10**9, filter="paper"), 16e9) is None
    assert fewest(Job(10**8, 10**9, propagation="halo"), 16e9) is not None


def test_times_are_amounts_by_rates() -> None:
    plan = Plan(Job(10**6, 10**7, workers=4), MACHINE)
    twice = Plan(plan.job, Machine(16e9, 2e9, 2e12))
    assert (plan.sending, plan.computing) == (2 * twice.sending, 2 * twice.computing)
    assert Plan(Job(10**6, 10**7), MACHINE).sending == 0
