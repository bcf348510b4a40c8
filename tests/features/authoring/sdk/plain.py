"""A script that talks to the API server by itself, in the ways of the Kubernetes client, with nothing of trainc in it."""

from kubernetes import client, config, dynamic

config.load_kube_config()
api = client.CustomObjectsApi()
trainer = {"numNodes": 2, "image": "example.com/t:1", "command": ["torchrun", "train.py"]}


def trainjob(name: str) -> dict[str, object]:
    spec = {"runtimeRef": {"name": "torch-distributed"}, "trainer": trainer}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name},
        "spec": spec,
    }


pods = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "example.com/t:1"}]}}
jobset = {
    "apiVersion": "jobset.x-k8s.io/v1alpha2",
    "kind": "JobSet",
    "metadata": {"name": "jobset"},
    "spec": {"replicatedJobs": [{"name": "w", "template": {"spec": {"template": pods}}}]},
}
api.create_namespaced_custom_object("trainer.kubeflow.org", "v1alpha1", "team-a", "trainjobs", trainjob("by-hand"))
api.create_namespaced_custom_object("jobset.x-k8s.io", "v1alpha2", "team-a", "jobsets", jobset)
jobs = dynamic.DynamicClient(client.ApiClient()).resources.get(
    api_version="trainer.kubeflow.org/v1alpha1", kind="TrainJob"
)
jobs.create(body=trainjob("dynamic"), namespace="team-b")
client.CoreV1Api().create_namespaced_config_map("team-a", {"metadata": {"name": "settings"}, "data": {"a": "b"}})
print("seen", [item.metadata.name for item in jobs.get(namespace="team-b").items])
