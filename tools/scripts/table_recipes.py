"""What generate_tables.py reads for each table: packages and clones, pinned, and the places in them."""

from __future__ import annotations

from collections.abc import Mapping

# For each table, its packages with the places in each: a class with its bases (`path:Class`), all classes of the modules that a
# pattern names (`path/*.py:*`), a class and those of its fields (`path:Class.*`), the parameters of a function
# (`path:Class.function`), those that make an object of each class of some modules (`path/*.py:()`), the calls of add_argument in a
# module (`path.py`), what the calls of a function register (`path:register_template()`), or the keys of a file (`path.yaml`). Other
# packages may define further options, which tables with `extends` have.
RECIPES: dict[str, Mapping[str, tuple[str, ...]]] = {
    "transformers": dict.fromkeys(
        (
            *("transformers==5.23.0", "transformers==5.0.0", "transformers==4.57.6", "transformers==4.53.3"),
            *("transformers==4.50.3", "transformers==4.46.3", "transformers==4.45.2", "transformers==4.40.2"),
            "transformers==4.30.2",
        ),
        (
            "transformers/training_args.py:TrainingArguments",
            "transformers/training_args_seq2seq.py:Seq2SeqTrainingArguments",
        ),
    ),
    "llamafactory": dict.fromkeys(
        ("llamafactory==0.9.5", "llamafactory==0.9.2", "llamafactory==0.8.3", "llamafactory==0.7.1"),
        ("llamafactory/hparams/*_args.py:*", "llamafactory/data/template.py:register_template()"),
    ),
    "trl": {
        "trl==1.16.0": ("trl/trainer/*_config.py:*", "trl/scripts/*.py:*", "trl/experimental/*/*_config.py:*"),
        **dict.fromkeys(
            ("trl==1.0.0", "trl==0.24.0", "trl==0.19.1", "trl==0.15.2"),
            ("trl/trainer/*_config.py:*", "trl/scripts/*.py:*"),
        ),
        "trl==0.8.6": ("trl/trainer/*_config.py:*", "trl/commands/*.py:*"),
        "trl==0.11.4": ("trl/trainer/*_config.py:*", "trl/commands/*.py:*"),
    },
    "swift": {
        "ms-swift==4.6.0": (
            *("swift/arguments/*.py:*", "swift/arguments/base_args/*.py:*", "swift/trainers/arguments.py:*"),
            *(
                "swift/rlhf_trainers/*.py:*",
                "swift/ray_utils/*.py:*",
                "swift/tuner_plugin/*.py:*",
                "swift/megatron/arguments/*.py:*",
            ),
        ),
        **dict.fromkeys(
            ("ms-swift==3.12.6", "ms-swift==3.3.1"),
            (
                *("swift/llm/argument/*.py:*", "swift/llm/argument/base_args/*.py:*", "swift/trainers/*arguments.py:*"),
                "swift/megatron/argument/*.py:*",
            ),
        ),
        "ms-swift==2.6.1": ("swift/llm/utils/argument.py:*", "swift/trainers/arguments.py:*"),
        "ms-swift==2.0.0": ("swift/llm/utils/argument.py:*", "swift/trainers/arguments.py:*"),
    },
    "axolotl": dict.fromkeys(
        ("axolotl==0.21.0",), ("axolotl/utils/schemas/*.py:*", "axolotl/integrations/*/args.py:*")
    ),
    "accelerate": dict.fromkeys(
        ("accelerate==1.15.0", "accelerate==1.0.1"), ("accelerate/commands/config/config_args.py:*",)
    ),
    "verl": {
        **dict.fromkeys(
            ("verl==0.9.1", "verl==0.6.1"),
            (
                "verl/trainer/config/_generated_ppo_trainer.yaml",
                "verl/trainer/config/_generated_ppo_megatron_trainer.yaml",
            ),
        ),
        **dict.fromkeys(
            ("verl==0.4.1", "verl==0.3.0.post1", "verl==0.2.0.post2"),
            ("verl/trainer/config/ppo_trainer.yaml", "verl/trainer/config/ppo_megatron_trainer.yaml"),
        ),
    },
    "verl_sft": {
        "verl==0.9.1": ("verl/trainer/config/sft_trainer_engine.yaml",),
        "verl==0.6.1": ("verl/trainer/config/sft_trainer.yaml",),
        "verl==0.4.1": ("verl/trainer/config/sft_trainer.yaml",),
    },
    "maxtext": dict.fromkeys(
        ("maxtext==0.2.5", "maxtext==0.2.0"), ("maxtext/configs/types.py:*", "maxtext/configs/base.yml")
    ),
    "torchtitan": {
        "torchtitan==0.2.2": ("torchtitan/config/job_config.py:JobConfig.*",),
        "torchtitan==0.1.0": ("torchtitan/config_manager.py:JobConfig.*",),
    },
    "openrlhf": dict.fromkeys(
        ("openrlhf==0.11.2", "openrlhf==0.8.11"),
        ("*.data/purelib/openrlhf/cli/train_*.py",),
    ),
    "composer": {"mosaicml==0.32.1": ("composer/cli/launcher.py",)},
    "ultralytics": {
        **dict.fromkeys(
            ("ultralytics==8.4.190", "ultralytics==8.3.0", "ultralytics==8.2.0", "ultralytics==8.1.0"),
            ("ultralytics/cfg/default.yaml",),
        ),
        "ultralytics==8.0.50": ("ultralytics/yolo/cfg/default.yaml",),
    },
    "open_clip": dict.fromkeys(("open_clip_torch==3.3.0", "open_clip_torch==2.30.0"), ("open_clip_train/params.py",)),
    "mace": dict.fromkeys(
        ("mace-torch==0.3.16", "mace-torch==0.3.10", "mace-torch==0.3.6"), ("mace/tools/arg_parser.py",)
    ),
    "rl_zoo": dict.fromkeys(("rl_zoo3==2.9.2", "rl_zoo3==2.3.0", "rl_zoo3==1.8.0"), ("rl_zoo3/train.py",)),
    "yolov5": dict.fromkeys(("yolov5==7.0.14", "yolov5==6.2.3", "yolov5==6.0.7"), ("yolov5/train.py",)),
    "lm_eval": {
        "lm_eval==0.4.13": ("lm_eval/_cli/run.py",),
        **dict.fromkeys(("lm_eval==0.4.8", "lm_eval==0.4.2"), ("lm_eval/__main__.py",)),
    },
    "mlx": dict.fromkeys(("mlx-lm==0.32.2", "mlx-lm==0.21.5"), ("mlx_lm/lora.py",)),
    "f5_tts": dict.fromkeys(("f5-tts==1.1.22", "f5-tts==1.0.0"), ("f5_tts/train/finetune_cli.py",)),
    "diffsynth": {"diffsynth==2.1.12": ("diffsynth/diffusion/parsers.py",)},
    "paddlenlp": dict.fromkeys(
        ("paddlenlp==2.8.1", "paddlenlp==2.6.1"), ("paddlenlp/trainer/training_args.py:TrainingArguments",)
    ),
    "lerobot": dict.fromkeys(("lerobot==0.6.1", "lerobot==0.4.0"), ("lerobot/configs/train.py:TrainPipelineConfig.*",)),
    "flag_embedding": dict.fromkeys(
        ("FlagEmbedding==1.4.2",),
        ("FlagEmbedding/abc/finetune/*/*.py:*", "FlagEmbedding/finetune/*/*/*/arguments.py:*"),
    ),
    "openmmlab_train": {
        **dict.fromkeys(("mmdet==3.3.0", "mmdet==2.28.2"), ("mmdet/.mim/tools/train.py",)),
        **dict.fromkeys(("mmsegmentation==1.2.2", "mmsegmentation==0.30.0"), ("mmseg/.mim/tools/train.py",)),
    },
    "lightning": {
        "lightning==2.6.6": ("lightning/pytorch/trainer/trainer.py:Trainer.__init__",),
        "lightning==2.2.5": ("lightning/pytorch/trainer/trainer.py:Trainer.__init__",),
        "pytorch-lightning==1.9.5": ("pytorch_lightning/trainer/trainer.py:Trainer.__init__",),
    },
}
# The arguments of classes that scripts call.
RECIPES |= {
    "trl_calls": dict.fromkeys(
        ("trl==1.16.0", "trl==1.0.0", "trl==0.24.0", "trl==0.19.1", "trl==0.15.2", "trl==0.11.4", "trl==0.8.6"),
        ("trl/trainer/*_trainer.py:()",),
    ),
    "transformers_calls": dict.fromkeys(
        RECIPES["transformers"], ("transformers/trainer.py:()", "transformers/trainer_seq2seq.py:()")
    ),
    "lightning_calls": dict.fromkeys(
        (
            *("pytorch-lightning==2.6.6", "pytorch-lightning==2.0.0", "pytorch-lightning==1.9.0"),
            *("pytorch-lightning==1.8.0", "pytorch-lightning==1.7.0", "pytorch-lightning==1.6.0"),
            *("pytorch-lightning==1.5.0", "pytorch-lightning==1.4.9", "pytorch-lightning==1.2.10"),
        ),
        ("pytorch_lightning/trainer/trainer.py:()",),
    ),
    "peft_calls": {
        **dict.fromkeys(
            ("peft==0.21.2", "peft==0.15.2", "peft==0.11.1", "peft==0.7.1"), ("peft/tuners/lora/config.py:()",)
        ),
        "peft==0.4.0": ("peft/tuners/lora.py:()",),
    },
    "accelerate_calls": dict.fromkeys(
        ("accelerate==1.15.0", "accelerate==1.0.1", "accelerate==0.34.2", "accelerate==0.28.0", "accelerate==0.20.3"),
        ("accelerate/accelerator.py:()", "accelerate/utils/dataclasses.py:()"),
    ),
}
# What comes before the keys of a table.
PREFIXES = {"lightning": "trainer."}
# Programs whose fields of the type bool are options without a value.
WITH_FLAGS = frozenset(("fairseq",))
# The modules that check the options of a table, by its name, as patterns with blanks between them; with `each:`, scripts, each of
# which has checks of its own.
CHECKS: dict[str, str] = {}


def _clones(repository: str, revisions: str, *places: str) -> Mapping[str, tuple[str, ...]]:
    """Return the recipe of a program that no package has: its clone at some tags or commits, the newest first."""
    return {f"{repository}@{revision}": places for revision in revisions.split()}


RECIPES |= {
    "kohya": _clones("kohya-ss/sd-scripts", "v0.9.1 v0.8.7 v0.7.0", "*.py", "library/*.py"),
    "diffusers": _clones("huggingface/diffusers", "v0.36.0 v0.32.2 v0.27.2 v0.21.4 v0.16.1", "examples/**/train_*.py"),
    "timm": _clones("huggingface/pytorch-image-models", "v1.0.20 v0.9.16 v0.6.13", "train.py"),
    "opennmt": _clones("OpenNMT/OpenNMT-py", "v3.5.1 v3.0.4 2.3.0 1.2.0", "onmt/opts.py"),
    "icefall": _clones("k2-fsa/icefall", "36e0420c7e3e849a25b3d24dbf913c424f3d23c9 v1.0", "egs/*/ASR/*/train.py"),
    "stylegan": _clones("NVlabs/stylegan3", "c233a919a6faee6e36a316ddd4eddababad1adf9", "train.py:click"),
    "wenet": _clones("wenet-e2e/wenet", "v3.1.0 v3.0.1 v2.2.1", "wenet/bin/train.py"),
    "detectron2": _clones("facebookresearch/detectron2", "v0.6 v0.4.1 v0.2", "detectron2/config/defaults.py:="),
    "speechbrain": _clones("speechbrain/speechbrain", "v1.0.3 v1.0.0 v0.5.16", "speechbrain/core.py"),
    "deepspeed_chat": _clones("microsoft/DeepSpeedExamples", "HEAD", "applications/DeepSpeed-Chat/training/*/main.py"),
    "musubi": _clones("kohya-ss/musubi-tuner", "v0.3.4 v0.2.15 v0.2.0", "src/musubi_tuner/*.py"),
}
CHECKS |= {
    "kohya": "each:*.py",
    "diffusers": "each:examples/**/train_*.py",
    "timm": "train.py",
    "opennmt": "onmt/opts.py onmt/utils/parse.py",
    "icefall": "each:egs/*/ASR/*/train.py",
    "musubi": "each:src/musubi_tuner/*.py",
    "deepspeed_chat": "each:applications/DeepSpeed-Chat/training/*/main.py",
}
CHECKS |= {
    "megatron": "megatron/training/arguments.py megatron/arguments.py",
    "transformers": "transformers/training_args.py",
    "openrlhf": "each:*.data/purelib/openrlhf/cli/train_*.py",
    "open_clip": "open_clip_train/params.py open_clip_train/main.py",
    "axolotl": "axolotl/utils/schemas/*.py",
    "llamafactory": "llamafactory/hparams/*.py",
}
RECIPES |= {
    "nnunet": {
        **_clones(
            "MIC-DKFZ/nnUNet",
            "v2.6.4 v2.4.2 v2.2",
            "nnunetv2/run/run_training.py",
            "nnunetv2/experiment_planning/plan_and_preprocess_entrypoints.py",
        ),
        **_clones(
            "MIC-DKFZ/nnUNet",
            "v1.7.1",
            "nnunet/run/run_training.py",
            "nnunet/experiment_planning/nnUNet_plan_and_preprocess.py",
        ),
    },
    "fairseq": _clones(
        "facebookresearch/fairseq",
        "3d262bb25690e4eb2e7d3c1309b1e9c406ca4b99 v0.12.2 v0.10.2",
        "fairseq/**/*.py",
        "fairseq/**/*.py:*",
    ),
    "litgpt": _clones(
        "Lightning-AI/litgpt",
        "v0.5.11 v0.5.4 v0.4.13",
        *(f"litgpt/finetune/{one}.py:.setup" for one in ("lora", "full", "adapter", "adapter_v2")),
        "litgpt/pretrain.py:.setup",
        "train.@litgpt/args.py:TrainArgs",
        "eval.@litgpt/args.py:EvalArgs",
    ),
    "megatron": {
        **_clones(
            "NVIDIA/Megatron-LM",
            "core_v0.19.0 core_v0.16.1 core_v0.14.0 core_v0.12.1 core_v0.9.0",
            "megatron/training/arguments.py",
        ),
        **_clones("NVIDIA/Megatron-LM", "core_v0.5.0 v2.5", "megatron/arguments.py"),
    },
    "llava": _clones("haotian-liu/LLaVA", "v1.2.2 v1.1.3", "llava/train/train.py:*"),
    "simpletuner": _clones("bghira/SimpleTuner", "v1.3.1 v1.2.5 v1.1.4", "helpers/configuration/cmd_args.py"),
}
CHECKS |= {
    "fairseq": "fairseq/dataclass/*.py fairseq/trainer.py fairseq_cli/train.py fairseq/options.py",
    "llava": "llava/train/train.py",
    "simpletuner": "helpers/configuration/*.py",
    "nnunet": "nnunetv2/run/run_training.py",
    "litgpt": "litgpt/*.py litgpt/finetune/*.py",
}
RECIPES |= {
    "axolotl": {
        **RECIPES["axolotl"],
        **_clones(
            "axolotl-ai-cloud/axolotl",
            "v0.16.1 v0.12.2 v0.8.1",
            "src/axolotl/utils/schemas/*.py:*",
            "src/axolotl/integrations/*/args.py:*",
        ),
    },
    "open_instruct": _clones("allenai/open-instruct", "HEAD", "open_instruct/*.py:*"),
    "slowfast": _clones("facebookresearch/SlowFast", "HEAD", "slowfast/config/defaults.py:="),
    "detr": _clones("facebookresearch/detr", "HEAD", "main.py"),
    "internvl": _clones("OpenGVLab/InternVL", "HEAD", "internvl_chat/internvl/train/internvl_chat_finetune.py:*"),
    "coqui": _clones("coqui-ai/TTS", "v0.22.0 v0.13.3", "TTS/**/*config*.py:*"),
    "recbole": dict.fromkeys(("recbole==1.2.1", "recbole==1.1.1"), ("recbole/properties/**/*.yaml",)),
}
CHECKS |= {
    "detr": "main.py",
}
CHECKS["axolotl"] += " src/axolotl/utils/schemas/*.py src/axolotl/utils/config/models/input/v0_4_1/*.py"
