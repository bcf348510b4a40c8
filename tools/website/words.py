"""Words that people search for, and the pages that answer them, which may use other words.

The search of the site finds a page by these as by its own words, and lists it before others. A page is named by its path
without `.md`; what it answers best stands first. In phrases, each word counts.
"""

WORDS = {
    "docs/ci": "ci merge pipeline github gitlab pre-commit workflow action jenkins hook queue pull request bot comment",
    "docs/comparison": "helm kueuectl skypilot torchx xpk kubeconform alternatives versus ray kustomize",
    "docs/compatibility": "version versions matrix supported upgrade jobset trainer kueue kubernetes requirements prerequisites",
    "docs/concepts": "beginner introduction multi node distributed crd operator controller pod node rank jobset new user semantics",
    "docs/configuration": "settings silence suppress severity ignore warning strict exclude docs-url docsUrl environments",
    "docs/diff": "preview change review impact plan upgrade dry run release comment",
    "docs/doctor": "doctor preflight prerequisites installed missing pvc secret versions storage class cluster check",
    "docs/drift": "drift live finished cluster waiting conditions pending dump",
    "docs/editors": "vscode neovim vim emacs helix jetbrains lsp language server completion autocomplete schema ide editor",
    "docs/explain": "provenance blame origin why trace field explain graph picture",
    "docs/faq": "uninstall remove leave stop using lock-in",
    "docs/fits": "quota queue kueue pending gpu capacity borrow stuck forever preemption topology scheduling admitted cohort priority",
    "docs/gangs": "gang deadlock coscheduling all-or-nothing volcano podgroup partial start priority queue",
    "docs/gitops": "argo argocd flux fluxcd gitops sync waves secret token sealed external secrets kueue kubectl apply deploy",
    "docs/nemo-run": "nemo nvidia megatron executor podtemplateoverrides launch",
    "docs/kubeflow-sdk": "sdk notebook jupyter python client submit trainerclient customtrainer",
    "docs/kustomize": "kustomize transformer plugin krm kubectl krew namePrefix images",
    "docs/merged-job": "rollback rollout rerun retire delete finished completed ttl lifecycle rebuild revert stop end cancel job kill abort",
    "docs/outcomes": "restart immutable re-created replace update recreate server-side force running refused name-hash",
    "docs/overlays": "overlay imagepullbackoff private registry mirror proxy http_proxy imagepullsecret pull secret air-gapped airgapped environment staging production patch",
    "docs/playground": "playground browser online demo share link try",
    "docs/policies": "kyverno gatekeeper opa policy pod security admission cel compliance required label",
    "docs/recipes": "dataset checkpoint resume huggingface hf token shared memory shm wandb secret pvc volume mount claim spot preemption preemptible elastic fsdp deepspeed accelerate torchtune jax pull private registry image example copy data resuming multi node multinode instance instances drain drained node maintenance evicted eviction reboot",
    "docs/rendered": "rendered output folder prune merge conflict foreign",
    "docs/kept": "kept as built rebuild keep prove base in place revert frozen",
    "docs/report": "dashboard html overview cost gpus per team report",
    "docs/run": "local laptop torchrun hang nccl timeout debug rendezvous ranks launcher accelerate deepspeed",
    "docs/slurm": "slurm sbatch srun salloc squeue scancel partition array hpc gres migrate time limit walltime deadline logs cancel job",
    "docs/sweeps": "hyperparameter hyperparameters tuning grid search katib optuna learning rate trial sweep",
    "docs/taking-over": "import adopt existing onboarding running takeover export",
    "docs/teams": "onboarding monorepo several clusters multi-cluster multicluster namespaces codeowners tenants team namespace quota private registry proxy",
    "docs/testing": "pytest test runtimes unit",
    "docs/training-operator-v1": "pytorchjob mpijob tfjob xgboostjob paddlejob jaxjob migrate migration old operator v1 elastic mpi",
    "docs/troubleshooting": "stuck hang oom out of memory error crash pending nccl timeout deadlock shared shm spot preempted slow imagepullbackoff logs",
    "docs/tutorial": "install getting started first quickstart apply existing",
    "docs/v1-details": "appwrapper katib networkpolicy kueue v1beta1 v1beta2 translation details",
}
