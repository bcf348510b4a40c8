"""What a change of jobs or queues does to the answers, in sentences."""

from __future__ import annotations

from clusters import Json, flavor, jobset, local, namespace, node, queue

from trainc.features.cluster.fits.forms import fit_changes

BASICS = [namespace(), flavor(), local("a")]


def changes_of(before: list[Json], after: list[Json], *jobs: Json) -> list[str]:
    """The sentences about queues that change under the same jobs."""
    named = [(f"team-a/{job['metadata']['name']}", job) for job in jobs]
    return fit_changes((named, [*BASICS, *before]), (named, [*BASICS, *after]))


def test_less_quota_and_what_it_costs() -> None:
    jobs = [jobset(f"j{number}", pods=5 + number) for number in range(4)]
    assert changes_of([queue("a", 64)], [queue("a", 48)], *jobs)[-1] == (
        "quota of a: 64 -> 48 GPUs; 2 jobs can no longer be admitted (team-a/j2, team-a/j3)."
    )


def test_more_quota_and_what_it_brings() -> None:
    assert changes_of([queue("a", 8)], [queue("a", 16)], jobset(pods=2)) == [
        "team-a/llm can now run, which was impossible before.",
        "quota of a: 8 -> 16 GPUs.",
    ]


def test_a_queue_that_is_stopped_or_removed() -> None:
    stopped = changes_of([queue("a", 8)], [queue("a", 8, stopPolicy="Hold")], jobset())
    assert stopped[-1] == "ClusterQueue a was stopped; 1 job can no longer be admitted (team-a/llm)."
    removed = changes_of([queue("a", 8), queue("b", 8)], [queue("b", 8)], jobset())
    assert removed[-1] == "ClusterQueue a was removed; 1 job can no longer be admitted (team-a/llm)."


def test_a_job_that_grows_beyond_its_queue() -> None:
    cluster = [*BASICS, queue("a", 8)]
    assert fit_changes(([("team-a/llm", jobset())], cluster), ([("team-a/llm", jobset(pods=2))], cluster)) == [
        (
            "team-a/llm can no longer be admitted: the job requests 16 GPUs, and ClusterQueue a can provide at most 8: "
            "all from its own quota; 8 would fit: numNodes 1."
        )
    ]


def test_nothing_changes_nothing_is_reported() -> None:
    assert changes_of([queue("a", 8)], [queue("a", 8)], jobset(), jobset("big", pods=2)) == []


def test_half_a_snapshot_says_so() -> None:
    assert changes_of([queue("a", 8)], [], jobset())[0] == (
        "The snapshot has no ClusterQueue, so it is unknown whether 1 job fits (team-a/llm)."
    )


def test_nodes_that_shrink_below_a_pod() -> None:
    large, small = ([queue("a", 8), node("n0", "r0", gpus=gpus)] for gpus in (8, 4))
    (sentence,) = changes_of(large, small, jobset())
    assert sentence.startswith("team-a/llm can still be admitted and no longer run: ClusterQueue a admits the job")
    assert changes_of(small, large, jobset()) == ["team-a/llm can now run, which was impossible before."]


def test_jobs_with_the_same_change_are_one_sentence_and_what_stays_blocked_is_none() -> None:
    jobs = [jobset(f"j{number}", pods=5) for number in range(7)]
    assert changes_of([queue("a", 64)], [queue("a", 32)], *jobs)[0].startswith(
        "7 jobs can no longer be admitted: the job requests 40 GPUs"
    )
    blocked = [queue("a", 64), node("n0", "r0", gpus=4)]
    assert changes_of(blocked, blocked, *jobs) == []


def test_a_new_job_comes_with_whether_it_starts_now() -> None:
    running = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "w", "namespace": "team-a", "uid": "u", "creationTimestamp": "2026-09-01T10:00:00Z"},
        "spec": {"queueName": "a", "podSets": []},
    }
    cluster = [*BASICS, queue("a", 8), {"takenAt": "2026-09-01T12:00:00Z"}, running]
    was, new = ("team-a/llm", jobset()), ("team-a/new", jobset("new"))
    (sentence,) = fit_changes(([was], cluster), ([was, new], cluster))
    assert sentence.startswith("team-a/new, by the cluster as of 2026-09-01T1")
    assert "starts now with" in sentence
    assert fit_changes(([was], cluster), ([was], cluster)) == []


def test_what_the_output_itself_has_is_there() -> None:
    env = {"configMapRef": {"name": "hosts"}}
    job = jobset(pods=2)
    job["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"][0]["envFrom"] = [env]
    hosts = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "hosts", "namespace": "team-a"}}
    listed = {"apiVersion": "trainc/v1alpha1", "kind": "Cluster", "namespaces": {"team-a": {"configMaps": ["other"]}}}
    cluster, named = [*BASICS, queue("a", 8), listed], [("team-a/llm", job)]
    assert "there is no ConfigMap hosts" in fit_changes(([], cluster), (named, cluster))[0]
    assert "hosts" not in fit_changes(([], cluster), (named, cluster), ([], [job, hosts]))[0]
