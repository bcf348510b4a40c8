"""A job as a picture: what is read from its manifests, and how each form shows it."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from typing import Any

import pytest
from builders import compiled, container, job, runtime, trainjob

from trainc.features.authoring.graph.drawing import DOTS_IN_ROW, VALUES, WIDTH, graph_svg, lay_out
from trainc.features.authoring.graph.formats import graph_dot, graph_json, graph_mermaid, graph_text
from trainc.features.authoring.graph.model import Gang, Graph, Rendezvous, Step, Volume, layers, read_graph
from trainc.kube.jobset import Dependency
from trainc.startup.records import replace

FETCH = job(
    "dataset-initializer",
    "dataset-initializer",
    [container("dataset-initializer", volumeMounts=[{"name": "work", "mountPath": "/w"}])],
    pod={"volumes": [{"name": "work", "persistentVolumeClaim": {"claimName": "data"}}]},
)
AFTER: dict[str, Any] = {"dependsOn": [{"name": "dataset-initializer", "status": "Complete"}]}
GPUS = {"resourcesPerNode": {"limits": {"nvidia.com/gpu": 8}}}


def graph(document: dict[str, Any], *runtimes: dict[str, Any], **options: Any) -> Graph:
    return read_graph(compiled(document, *runtimes, **options).manifests)


def usual(nodes: int = 4) -> Graph:
    return graph(
        trainjob({"numNodes": nodes, **GPUS}),
        runtime(FETCH, job(**AFTER), policy={"torch": {}}, gang={"coscheduling": {}}),
    )


def test_everything_is_read_from_the_manifests() -> None:
    found = usual()
    fetch, node = found.steps
    assert found.gang == Gang("llm", "coscheduling", 4)
    assert (found.pods, found.gpus) == (5, 32)
    assert fetch.volumes == (Volume("work", "PVC data"),)
    assert (node.job.ancestor, node.job.image) == ("trainer", "example.com/train:1")
    assert (node.job.pods, node.job.replicas, node.job.devices) == (4, 1, {"nvidia.com/gpu": 8})
    assert replace(node, job=fetch.job) == Step(
        fetch.job,
        depends_on=(Dependency("dataset-initializer", "Complete"),),
        hosts="llm-node-0-[0-3].llm",
        rendezvous=(Rendezvous("llm-node-0-0.llm:29500", "PET_MASTER_ADDR"),),
        gang="llm",
    )


@pytest.mark.parametrize(
    ("policy", "meets"),
    [
        ({"jax": {}}, Rendezvous("llm-node-0-0.llm:29500", "JAX_COORDINATOR_ADDRESS")),
        ({"xgboost": {}}, Rendezvous("llm-node-0-0.llm:29500", "DMLC_TRACKER_URI")),
        ({"torch": {"elasticPolicy": {"maxNodes": 2}}}, Rendezvous("llm-node-0-0.llm:29500", "PET_RDZV_ENDPOINT")),
        ({"flux": {}}, Rendezvous("llm-node-0-0.llm:8050", "broker.toml in llm-flux-entrypoint")),
    ],
)
def test_every_framework_has_its_meeting_point(policy: dict[str, Any], meets: Rendezvous) -> None:
    assert graph(trainjob({"numNodes": 2}), runtime(policy=policy)).steps[0].rendezvous == (meets,)


def test_mpi_meets_through_its_hostfile() -> None:
    launcher, _ = graph(
        trainjob({"numNodes": 3}), runtime(job("launcher"), job("node", None), policy={"mpi": {}})
    ).steps
    assert launcher.rendezvous == (Rendezvous("3 hosts", "hostfile in llm-mpi-hostfile"),)


def test_pods_without_hostnames_have_none() -> None:
    assert graph(trainjob(), runtime(network={"enableDNSHostnames": False})).steps[0].hosts == ""


def test_steps_in_order_wait_for_each_other() -> None:
    jobs = (job("first", None), job())
    found = graph(trainjob(), runtime(*jobs, startupPolicy={"startupPolicyOrder": "InOrder"}))
    assert [step.depends_on for step in found.steps] == [(), (Dependency("first", "Ready"),)]


def test_layers_stand_behind_what_they_wait_for() -> None:
    assert [[step.name for step in layer] for layer in layers(usual())] == [["dataset-initializer"], ["node"]]


def test_the_tree_names_every_step_and_its_facts() -> None:
    assert graph_text(usual()).splitlines() == [
        "JobSet team-a/llm  5 pods, 32 GPUs",
        "│  gang llm: 4 pods together (coscheduling)",
        "│",
        "├─ dataset-initializer  1 pod",
        "│     image      example.com/train:1",
        "│     hosts      llm-dataset-initializer-0-0.llm",
        "│     volumes    work  (PVC data)",
        "│",
        "└─ node                 4 pods \N{MULTIPLICATION SIGN} 8 GPUs  trainer, in the gang",
        "      after      dataset-initializer is Complete",
        "      image      example.com/train:1",
        "      per pod    8 nvidia.com/gpu",
        "      hosts      llm-node-0-[0-3].llm",
        "      rendezvous llm-node-0-0.llm:29500  (PET_MASTER_ADDR)",
    ]


def test_every_kind_of_device_is_counted_and_all_that_a_pod_asks_for_is_shown() -> None:
    limits = {"google.com/tpu": 4, "rdma/hca": 1, "cpu": 96, "memory": "1Ti"}
    shown = graph_text(graph(trainjob({"numNodes": 4, "resourcesPerNode": {"limits": limits}}), runtime()))
    assert "4 pods, 16 TPUs" in shown
    assert "4 pods \N{MULTIPLICATION SIGN} 4 TPUs" in shown
    assert "4 google.com/tpu, 1 rdma/hca, 96 CPU, 1Ti memory" in shown


def test_mermaid_has_a_node_a_step_an_edge_a_dependency_and_a_frame_for_the_gang() -> None:
    text = graph_mermaid(usual())
    assert text.startswith("flowchart LR\n")
    assert "  s0 -->|Complete| s1\n" in text
    assert text.index("subgraph frame") < text.index('s1["<b>node</b>') < text.index("  end\n")


def test_dot_quotes_what_it_writes() -> None:
    text = graph_dot(usual())
    assert '  "dataset-initializer" -> "node" [label="Complete"]\n' in text
    assert text.count("{") == text.count("}")


def test_json_says_all_of_it() -> None:
    document = graph_json(usual())
    assert (document["kind"], document["pods"], document["steps"][1]["gpus"]) == ("Graph", 5, {"nvidia.com/gpu": 8})


def test_the_picture_is_well_formed_whatever_is_written_in_a_job() -> None:
    nasty = job(pod={"volumes": [{"name": "v", "hostPath": {"path": "/<script>&\"'"}}]})
    root = ET.fromstring(graph_svg(graph(trainjob(), runtime(nasty))))
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "v · hostPath /<script>&\"'" in texts


def test_thousands_of_pods_take_no_more_room_than_dozens() -> None:
    few, many = lay_out(usual(56)), lay_out(usual(50_000))
    assert many.height == few.height
    assert all(card.dots <= 2 * DOTS_IN_ROW for card in many.cards)
    assert sum(card.dots * card.pods_per_dot for card in many.cards) >= 50_001
    assert "1,000 pods)" in graph_svg(usual(50_000))


def test_cards_do_not_overlap_and_stay_on_the_page() -> None:
    jobs = [job(f"j{i}", None, dependsOn=[{"name": "j0", "status": "Ready"}]) for i in range(1, 5)]
    drawing = lay_out(graph(trainjob(), runtime(job("j0", None), *jobs)))
    for card in drawing.cards:
        assert 0 < card.x <= drawing.width - WIDTH
        assert 0 < card.y <= drawing.height - card.height
        for other in drawing.cards:
            apart = (
                abs(card.x - other.x) >= WIDTH or card.y >= other.y + other.height or other.y >= card.y + card.height
            )
            assert card is other or apart


def test_a_line_to_a_card_further_below_goes_around_those_between() -> None:
    first, second = (job(name, None) for name in ("a", "b"))
    last = job("c", None, dependsOn=[{"name": name, "status": "Complete"} for name in ("a", "b")])
    svg = graph_svg(graph(trainjob(), runtime(first, second, last)), stacked=True)
    cards = lay_out(graph(trainjob(), runtime(first, second, last)), stacked=True).cards
    lines = [path for path in re.findall(r'd="([^"]+)"', svg) if path.startswith("M")]
    around = [path for path in lines if path.count("L") == 3]
    assert len(around) == 1
    xs = [float(number) for number in re.findall(r"[ML] ?(-?[\d.]+)", around[0])]
    assert 0 < min(xs) < cards[0].x


def test_the_same_job_gives_the_same_picture() -> None:
    assert graph_svg(usual()) == graph_svg(usual())


def test_labels_do_not_touch_values_and_a_digest_is_cut_at_its_end() -> None:
    digest = "ghcr.io/acme/llm-train@sha256:" + "0123456789abcdef" * 4
    svg = graph_svg(graph(trainjob({"numNodes": 2, "image": digest}), runtime(policy={"torch": {}})))
    assert ">llm-train@sha256:0123456789abcdef012345…<" in svg
    # The widest of sans-serif fonts takes 0.65 of its size for a character on average.
    longest = max(len(label) for label in re.findall(r'class="label"[^>]*>([^<]+)<', svg))
    assert longest * 11 * 0.65 < VALUES


def test_a_launcher_is_joined_to_the_steps_on_which_it_starts_processes() -> None:
    def steps(*waits: str) -> tuple[Step, ...]:
        meeting = Rendezvous("2 hosts", "hostfile in llm")
        waiting = tuple(Dependency(name, "Ready") for name in waits)
        first, last = usual().steps
        job = replace(last.job, name="launcher")
        launcher = replace(last, job=job, depends_on=waiting, rendezvous=(meeting,), runs="mpirun")
        return launcher, replace(last, depends_on=(), rendezvous=()), first

    apart = replace(usual(), steps=steps())
    cards = {card.step.name: card for card in lay_out(apart).cards}
    assert cards["node"].step.depends_on == (Dependency("launcher", "mpirun"),)
    assert cards["dataset-initializer"].step.depends_on == ()
    assert cards["node"].x > cards["launcher"].x
    waiting = {card.step.name: card for card in lay_out(replace(usual(), steps=steps("node"))).cards}
    assert waiting["node"].step.depends_on == ()
