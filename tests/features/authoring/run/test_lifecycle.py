"""How a run goes on after each end of a pod: as Job and JobSet decide it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, strategies as st

from trainc.features.authoring.run.lifecycle import Action, Finish, Lifecycle, Start, Stop
from trainc.features.authoring.run.model import ExitRule, FailureRule, Outcome, Plan, Pod, Step, SuccessRule

DONE = Outcome("All", (), 0, ())


def step(name: str, pods: int = 1, *after: tuple[str, str], replicas: int = 1, limit: int = 0, **more: object) -> Step:
    every = tuple(
        Pod(f"j-{name}-{r}-{i}", f"{name}-{r}-{i}", name, r, (), i) for r in range(replicas) for i in range(pods)
    )
    return Step(name, every, after, more.pop("parallelism", pods), limit, **more)  # type: ignore[arg-type]


def plan(*steps: Step, outcome: Outcome = DONE) -> Plan:
    return Plan("j", steps, outcome, (), {}, frozenset(), ())


def pod(plan: Plan, short: str) -> Pod:
    return next(pod for step in plan.steps for pod in step.pods if pod.short == short)


def started(actions: Sequence[Action]) -> list[str]:
    return [action.pod.short for action in actions if isinstance(action, Start)]


def test_a_step_waits_until_the_one_before_is_complete() -> None:
    job = plan(step("data"), step("node", 2, ("data", "Complete")))
    course = Lifecycle(job)
    assert started(course.begin()) == ["data-0-0"]
    assert started(course.pod_ended(pod(job, "data-0-0"), 0)) == ["node-0-0", "node-0-1"]


def test_ready_means_started() -> None:
    job = plan(step("node", 2), step("launcher", 1, ("node", "Ready")))
    assert started(Lifecycle(job).begin()) == ["node-0-0", "node-0-1", "launcher-0-0"]


def test_a_step_that_is_left_out_holds_nothing_up() -> None:
    assert started(Lifecycle(plan(step("node", 1, ("gone", "Complete")))).begin()) == ["node-0-0"]


def test_the_success_policy_decides_and_not_the_last_pod() -> None:
    job = plan(step("node"), step("launcher"), outcome=Outcome("All", ("launcher",), 0, ()))
    course = Lifecycle(job)
    course.begin()
    assert course.pod_ended(pod(job, "launcher-0-0"), 0) == [Finish(0, "the success policy is met")]


def test_any_asks_for_one_job_only() -> None:
    job = plan(step("node", replicas=2), outcome=Outcome("Any", (), 0, ()))
    course = Lifecycle(job)
    course.begin()
    assert course.pod_ended(pod(job, "node-1-0"), 0) == [Finish(0, "the success policy is met")]


def test_a_failure_is_tried_again_as_often_as_the_backoff_limit_says() -> None:
    job = plan(step("node", 2, limit=2))
    course = Lifecycle(job)
    course.begin()
    assert started(course.pod_ended(pod(job, "node-0-0"), 1)) == ["node-0-0"]
    assert started(course.pod_ended(pod(job, "node-0-1"), 1)) == ["node-0-1"]
    assert course.pod_ended(pod(job, "node-0-0"), 7) == [Finish(7, "node-0-0 exited with status 7")]


def test_without_restarts_the_first_failure_ends_the_job() -> None:
    job = plan(step("node", limit=6))
    course = Lifecycle(job, restarts=False)
    course.begin()
    assert course.pod_ended(pod(job, "node-0-0"), 3) == [Finish(3, "node-0-0 exited with status 3")]


def test_exit_codes_decide_before_the_limit_does() -> None:
    rules = (
        ExitRule("FailJob", among=True, codes=frozenset({42})),
        ExitRule("Ignore", among=True, codes=frozenset({9})),
    )
    job = plan(step("node", limit=0, exit_rules=rules))
    course = Lifecycle(job)
    course.begin()
    for _ in range(5):
        assert started(course.pod_ended(pod(job, "node-0-0"), 9)) == ["node-0-0"]
    assert course.pod_ended(pod(job, "node-0-0"), 42) == [Finish(42, "node-0-0 exited with status 42")]


def test_the_jobset_starts_again_as_often_as_its_failure_policy_says() -> None:
    job = plan(step("data"), step("node", 1, ("data", "Complete")), outcome=Outcome("All", (), 1, ()))
    course = Lifecycle(job)
    course.begin()
    course.pod_ended(pod(job, "data-0-0"), 0)
    stop, *again = course.pod_ended(pod(job, "node-0-0"), 1)
    assert isinstance(stop, Stop)
    assert started(again) == ["data-0-0"]
    course.pod_ended(pod(job, "data-0-0"), 0)
    assert course.pod_ended(pod(job, "node-0-0"), 1) == [Finish(1, "node-0-0 exited with status 1")]


def test_the_first_rule_for_the_step_and_reason_counts() -> None:
    rules = (FailureRule("FailJobSet", ("launcher",), ()), FailureRule("RestartJobSetAndIgnoreMaxRestarts", (), ()))
    job = plan(step("node"), step("launcher"), outcome=Outcome("All", (), 0, rules))
    course = Lifecycle(job)
    course.begin()
    for _ in range(3):
        assert isinstance(course.pod_ended(pod(job, "node-0-0"), 1)[0], Stop)
    assert isinstance(course.pod_ended(pod(job, "launcher-0-0"), 5)[0], Finish)


def test_a_deadline_fails_the_job() -> None:
    slow = step("node", limit=6, deadline=5)
    course = Lifecycle(plan(slow))
    course.begin()
    assert course.deadline_passed(slow) == [Finish(1, "node ran longer than 5 s")]


def test_a_job_has_succeeded_when_its_own_policy_is_met_and_the_rest_of_its_pods_end() -> None:
    leader = step("node", 3, success_rules=(SuccessRule(frozenset({0}), None),))
    job = plan(leader, step("report", 1, ("node", "Complete")))
    course = Lifecycle(job)
    assert len(started(course.begin())) == 3
    assert course.pod_ended(pod(job, "node-0-1"), 0) == []
    stop, start = course.pod_ended(pod(job, "node-0-0"), 0)
    assert stop == Stop("the success policy of node is met", (pod(job, "node-0-2"),))
    assert start == Start(pod(job, "report-0-0"))
    assert course.pod_ended(pod(job, "report-0-0"), 0) == [Finish(0, "the success policy is met")]


@pytest.mark.parametrize(
    ("indexes", "count", "succeeded", "met"),
    [
        ({0, 2}, None, {0}, False),
        ({0, 2}, None, {0, 1, 2}, True),
        ({0, 2}, 1, {2}, True),
        ({0, 2}, 1, {1}, False),
        (None, 2, {1}, False),
        (None, 2, {1, 3}, True),
        (None, None, {1, 3}, False),
    ],
)
def test_rules_of_a_success_policy(indexes: set[int] | None, count: int | None, succeeded: set[int], met: bool) -> None:
    """As TestMatchSuccessPolicy of kubernetes pkg/controller/job/success_policy_test.go has them."""
    rule = SuccessRule(None if indexes is None else frozenset(indexes), count)
    assert rule.is_met(frozenset(succeeded)) == met


def test_with_a_limit_of_its_own_an_index_fails_alone_and_the_job_when_all_have_ended() -> None:
    job = plan(step("node", 3, limit=2**31 - 1, limit_per_index=1, parallelism=2))
    course = Lifecycle(job)
    assert started(course.begin()) == ["node-0-0", "node-0-1"]
    assert started(course.pod_ended(pod(job, "node-0-0"), 7)) == ["node-0-0"]
    assert started(course.pod_ended(pod(job, "node-0-0"), 7)) == ["node-0-2"]
    assert course.pod_ended(pod(job, "node-0-1"), 0) == []
    assert course.pod_ended(pod(job, "node-0-2"), 0) == [Finish(7, "node-0-0 failed")]


def test_more_failed_indexes_than_may_fail_end_the_job_at_once() -> None:
    job = plan(step("node", 4, limit=2**31 - 1, limit_per_index=0, most_failed=1))
    course = Lifecycle(job)
    course.begin()
    assert course.pod_ended(pod(job, "node-0-0"), 2) == []
    assert course.pod_ended(pod(job, "node-0-1"), 3) == [Finish(3, "2 indexes of node have failed")]


def test_an_exit_code_may_fail_its_index_without_another_attempt() -> None:
    rules = (ExitRule("FailIndex", among=True, codes=frozenset({42})),)
    job = plan(step("node", 2, limit=2**31 - 1, limit_per_index=5, exit_rules=rules))
    course = Lifecycle(job)
    course.begin()
    assert course.pod_ended(pod(job, "node-0-0"), 42) == []
    assert started(course.pod_ended(pod(job, "node-0-1"), 1)) == ["node-0-1"]
    assert course.pod_ended(pod(job, "node-0-1"), 0) == [Finish(42, "node-0-0 failed")]


def test_the_whole_job_has_its_limit_besides_that_of_each_index() -> None:
    job = plan(step("node", 2, limit=1, limit_per_index=5))
    course = Lifecycle(job)
    course.begin()
    assert started(course.pod_ended(pod(job, "node-0-0"), 1)) == ["node-0-0"]
    assert isinstance(course.pod_ended(pod(job, "node-0-1"), 1)[0], Finish)


def test_a_success_policy_forgives_indexes_that_failed() -> None:
    rules = (SuccessRule(None, 1),)
    job = plan(step("node", 2, limit=2**31 - 1, limit_per_index=0, success_rules=rules))
    course = Lifecycle(job)
    course.begin()
    assert course.pod_ended(pod(job, "node-0-0"), 1) == []
    assert course.pod_ended(pod(job, "node-0-1"), 0) == [Finish(0, "the success policy is met")]


@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 2), st.lists(st.integers(0, 2), max_size=40))
def test_a_job_with_limits_per_index_always_comes_to_an_end(pods: int, side: int, limit: int, ends: list[int]) -> None:
    job = plan(step("node", pods, limit=2**31 - 1, limit_per_index=limit, parallelism=side))
    course = Lifecycle(job)
    running = started(course.begin())
    for status in [*ends, *[0] * pods]:
        assert len(running) <= side
        actions = course.pod_ended(pod(job, running.pop(0)), status)
        running += started(actions)
        if any(isinstance(action, Finish) for action in actions):
            return
        assert running, "nothing runs, and the job has not ended"
    raise AssertionError("it has not ended")


@given(st.integers(1, 6), st.integers(1, 6), st.lists(st.booleans(), max_size=40))
def test_never_more_pods_at_a_time_than_the_parallelism_and_each_done_once(
    pods: int, side: int, ends: list[bool]
) -> None:
    job = plan(step("node", pods, limit=1000, parallelism=side))
    course = Lifecycle(job)
    running = started(course.begin())
    done: list[str] = []
    for fine in [*ends, *[True] * pods]:
        assert len(running) <= side
        if not running:
            break
        ended = running.pop(0)
        done += [ended] if fine else []
        actions = course.pod_ended(pod(job, ended), 0 if fine else 1)
        running += started(actions)
    assert sorted(done) == sorted(each.short for each in job.steps[0].pods)
