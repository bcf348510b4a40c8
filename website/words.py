"""Words that people search for, and the pages that answer them, which may use other words.

The search of the site finds a page by these as by its own words. A page is named by its path without `.md`.
"""

WORDS = {
    "docs/compatibility": "version matrix supported upgrade trainer jobset kueue kubernetes",
    "docs/concepts": "beginner introduction new user slurm sbatch crd operator controller pod node rank",
    "docs/configuration": "settings silence suppress severity warning strict docs-url docsUrl exclude",
    "docs/diff": "drift live cluster change impact preview plan what-if upgrade restart immutable",
    "docs/doctor": "preflight prerequisites missing secret pvc storage class installed versions",
    "docs/fits": "quota queue pending forever stuck capacity gpu quota borrow preemption topology scheduling sbatch test-only",
    "docs/gangs": "coscheduling all-or-nothing deadlock gang volcano podgroup partial start",
    "docs/gitops": "argo argocd flux fluxcd ci pipeline merge queue pre-commit secret token huggingface wandb hf_token pull secret",
    "docs/kubeflow-sdk": "notebook python client submit trainerclient customtrainer",
    "docs/merged-job": "rollback rerun resume retire delete job finished completed ttl lifecycle onboarding rebuild pin",
    "docs/overlays": "private registry mirror proxy http_proxy imagepullsecret air-gapped environment staging production patch",
    "docs/playground": "browser online demo share link try",
    "docs/policies": "kyverno gatekeeper opa pod security admission cel compliance required label",
    "docs/report": "dashboard html overview cost gpus per team",
    "docs/run": "local laptop torchrun accelerate deepspeed launcher hang nccl timeout debug rendezvous ranks",
    "docs/sweeps": "hyperparameter tuning grid search katib optuna learning rate trial",
    "docs/teams": "monorepo several clusters multi-cluster namespaces codeowners onboarding tenants",
    "docs/training-operator-v1": "pytorchjob mpijob tfjob xgboostjob migrate migration old operator elastic",
    "docs/troubleshooting": "error hang oom out of memory shared memory shm /dev/shm deadlock nccl crash pending stuck",
}
