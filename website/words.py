"""Words that people search for, and the pages that answer them, which may use other words.

The search of the site finds a page by these as by its own words. A page is named by its path without `.md`.
"""

WORDS = {
    "docs/compatibility": "version matrix supported upgrade trainer jobset kueue kubernetes",
    "docs/concepts": "beginner introduction new user crd operator controller pod node rank",
    "docs/configuration": "settings silence suppress severity warning strict docs-url docsUrl exclude",
    "docs/diff": "drift live cluster change impact preview plan upgrade restart immutable preemption",
    "docs/doctor": "preflight prerequisites missing secret pvc dataset storage class installed versions huggingface token",
    "docs/explain": "provenance blame origin why trace",
    "docs/fits": "quota queue pending forever stuck capacity gpu borrow preemption spot topology scheduling",
    "docs/gangs": "coscheduling all-or-nothing deadlock gang volcano podgroup partial start",
    "docs/gitops": "argo argocd flux fluxcd ci pipeline merge queue secret token huggingface hf wandb pull private registry",
    "docs/kubeflow-sdk": "notebook python client submit trainerclient customtrainer accelerate",
    "docs/merged-job": "rollback rerun resume retire delete finished completed ttl lifecycle onboarding rebuild pin",
    "docs/overlays": "private registry mirror proxy http_proxy imagepullsecret air-gapped environment staging production patch",
    "docs/playground": "browser online demo share link try",
    "docs/policies": "kyverno gatekeeper opa pod security admission cel compliance required label",
    "docs/recipes": "example copy dataset data checkpoint resume huggingface hf token shared memory shm fsdp deepspeed accelerate torchtune jax spot preemption pull secret volume mount pvc elastic",
    "docs/report": "dashboard html overview cost gpus per team",
    "docs/run": "local laptop torchrun accelerate deepspeed launcher hang nccl timeout debug rendezvous ranks",
    "docs/slurm": "sbatch srun salloc squeue scancel partition array hpc gres migrate",
    "docs/sweeps": "hyperparameter hyperparameters tuning grid search katib optuna learning rate trial",
    "docs/teams": "monorepo several clusters multi-cluster namespaces codeowners onboarding tenants",
    "docs/training-operator-v1": "pytorchjob mpijob tfjob xgboostjob migrate migration old operator elastic",
    "docs/troubleshooting": "error hang oom out of memory shared shm deadlock nccl timeout crash pending stuck spot preempted",
}
