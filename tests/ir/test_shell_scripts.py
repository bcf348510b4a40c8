"""What a shell script starts, with what its variables say, in steps that grow as the script does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from builders import compiled, runtime, trainjob
from steps import assert_linear, steps
from tables import cases

from trainc.ir.commands.shell import MOST_DEPTH, read_script
from trainc.ir.commands.shell_words import tokens
from trainc.ir.commands.started import CommandLine, read_command
from trainc.plugins.registry import programs

TORCH = {"command": ["torchrun", "train.py"]}


SIZES = (60, 120, 240)


def read(script: str, *arguments: str) -> CommandLine:
    return read_command(("bash", "-c", script, *arguments), programs("torch"))


def words(script: str, *arguments: str) -> list[str]:
    """The words of the last launcher."""
    return list(read(script, *arguments).starts_of("launcher")[-1].argv)


@cases("script", "expected")
def test_a_command_has_the_words_that_the_shell_gives_it(script: str, expected: list[str]) -> None:
    assert words(script)[1:] == expected


def test_arguments_behind_a_script_are_those_of_its_commands() -> None:
    assert words('exec torchrun "$@"', "--", "train.py", "--x")[1:] == ["train.py", "--x"]
    assert words('torchrun "$0" $1', "train.py", "--x")[1:] == ["train.py", "--x"]
    assert words('main() { torchrun t.py "$@"; }; main', "--", "x")[1:] == ["t.py", "$@"]
    assert words('shift; torchrun "$@"', "--", "x", "t.py")[1:] == ["$@"]


def test_patterns_of_a_case_are_not_commands() -> None:
    started = read("case $X in a|b) torchrun t.py;; (*) echo no;; esac; date").starts
    assert [start.argv[0] for start in started] == ["torchrun", "echo", "date"]
    assert [start.sure for start in started] == [False, False, True]


def test_a_command_sees_what_was_set_before_it() -> None:
    first, second = read("A=1; one; A=2; B=3 two").starts
    assert (dict(first.variables), dict(second.variables)) == ({"A": "1"}, {"A": "2", "B": "3"})


NESTED: dict[str, Callable[[int], str]] = {
    "if": lambda n: "if x; then " * n + "torchrun t.py; " + "fi; " * n,
    "braces": lambda n: "{ " * n + "torchrun t.py; " + "}; " * n,
    "parentheses": lambda n: "( " * n + "torchrun t.py " + ")" * n,
    "loops": lambda n: "while x; do " * n + "torchrun t.py; " + "done; " * n,
    "cases": lambda n: "case x in x) " * n + "torchrun t.py" + ";; esac" * n,
    "functions": lambda n: "a() " * n + "{ torchrun t.py; }",
    "functions of bash": lambda n: "function a " * n + "{ torchrun t.py; }",
    "pipes into braces": lambda n: "x | { " * n + "torchrun t.py; " + "}; " * n,
    "if and braces": lambda n: "if x; then { " * (n // 2) + "torchrun t.py; " + "} fi; " * (n // 2),
    "if that is never closed": lambda n: "if x; then " * n,
}
QUOTED: dict[str, Callable[[int], str]] = {
    "substitutions": lambda n: "echo " + "$(" * n + ")" * n + "; torchrun t.py",
    "substitutions in quotes": lambda n: "echo " + '"$(' * n + ')"' * n + "; torchrun t.py",
    "parameters": lambda n: "echo " + "${a:-" * n + "}" * n + "; torchrun t.py",
    "parameters in quotes": lambda n: "echo " + '"${a:-' * n + '}"' * n + "; torchrun t.py",
}


@pytest.mark.parametrize("kind", NESTED)
def test_commands_inside_each_other_are_read_up_to_a_bound(kind: str) -> None:
    closed = "never" not in kind
    assert bool(read(NESTED[kind](MOST_DEPTH - 4)).starts_of("launcher")) == closed
    assert read(NESTED[kind](10 * MOST_DEPTH)).starts == ()
    assert read(NESTED[kind](10 * MOST_DEPTH)).unclosed == ""


@pytest.mark.parametrize("kind", QUOTED)
def test_quotes_inside_each_other_have_no_bound(kind: str) -> None:
    assert read(QUOTED[kind](10 * MOST_DEPTH)).starts_of("launcher")
    assert read(QUOTED[kind](10_000)).starts_of("launcher")


@pytest.mark.parametrize("kind", NESTED)
def test_a_job_with_such_a_script_compiles(kind: str) -> None:
    script = NESTED[kind](10 * MOST_DEPTH)
    assert compiled(trainjob({"command": ["bash", "-c", script]}), runtime(policy={"torch": {}})).manifests


def _one_line(line: str) -> Callable[[int], str]:
    return lambda n: f"{line}\n" * n


LONG: dict[str, Callable[[int], str]] = {
    "exports": lambda n: "".join(f"export A{i}=b\n" for i in range(n)) + "torchrun t.py\n",
    "exports and launchers": lambda n: "".join(f"export A{i}=b\ntorchrun t.py --a $A{i}\n" for i in range(n)),
    "one variable set again": _one_line("A=$A; torchrun --nnodes=$A t.py"),
    "a variable that grows": _one_line('A+=" --x 8"'),
    "a variable that doubles": lambda n: "A=aaaaaaaa\n" + "A=$A$A\n" * n + "torchrun t.py $A\n",
    "an array that grows": lambda n: "A+=(--x 8)\n" * (n // 4) + "torchrun t.py ${A[@]}\n",  # A longer one is not read.
    "one array in many commands": lambda n: f"A=({'x ' * n})\n" + "torchrun t.py ${A[@]}\n" * n,
    "launchers": _one_line("torchrun --nnodes=$N --rdzv_backend=c10d t.py --output_dir=/out --tp 8"),
    "options of one launcher": lambda n: "torchrun " + "--nnodes=4 " * n + "t.py",
    "arguments of one program": lambda n: "torchrun t.py " + "--output_dir /out --tensor-model-parallel-size 8 " * n,
    "overrides of one program": lambda n: "torchrun t.py " + "trainer.devices=8 model.x=$Y " * n,
    "pipes": lambda n: "torchrun t.py" + " | tee x" * n,
    "lists": lambda n: "torchrun t.py" + " && echo x" * n,
    "commands behind": lambda n: "torchrun t.py\n" + "echo x\nsleep 1\n" * n,
    "shells": _one_line("bash -c 'torchrun t.py'"),
    "empty shells": _one_line("bash -c :"),
    "script files": _one_line("bash run.sh"),
    "Python": _one_line("python train.py --x $RANK"),
    "here-documents": _one_line("cat > a.py << EOF\nprint('$x', '${y', `z\nEOF"),
    "one here-document": lambda n: "cat > a.py << EOF\n" + "import x ${y $(z\n" * n + "EOF\ntorchrun a.py",
    "brackets in one here-document": lambda n: "cat > a.py << EOF\n" + "${$(" * n + "\nEOF\ntorchrun a.py",
    "backslashes in a here-document": lambda n: "cat > a.py << EOF\n" + "\\" * n + "\nEOF\ntorchrun a.py",
    "quotes": _one_line("echo 'a' \"b $c\" d\\ e"),
    "tests of variables": _one_line('[ -n "$SLURM_PROCID" ] && torchrun --node_rank=$SLURM_PROCID t.py'),
    "variables of others": _one_line("torchrun --node_rank=$SLURM_PROCID --nnodes=$SLURM_NNODES t.py"),
    "one word of variables": lambda n: f"torchrun t.py --x={'$RANK' * n}",
    "cases": lambda n: "case $X in\n" + "a) torchrun t.py;;\n" * n + "esac",
    "functions": _one_line("f() { torchrun t.py; }"),
    "set and shift": _one_line('set -- a b c; shift; torchrun t.py "$@"'),
    "visible devices": _one_line("CUDA_VISIBLE_DEVICES=0 torchrun t.py &"),
    "background": _one_line("torchrun t.py & wait"),
    "comments": _one_line("# it's a comment"),
}


@pytest.mark.parametrize("shape", LONG)
def test_all_that_looks_at_a_script_takes_steps_in_proportion(shape: str) -> None:
    documents = runtime(policy={"torch": {}})

    def check(count: int) -> Any:
        read_command.cache_clear()
        read_script.cache_clear()
        fields = {"numNodes": 4, "resourcesPerNode": {"limits": {"nvidia.com/gpu": 8}}}
        job = trainjob({"command": ["bash", "-c", LONG[shape](count)], **fields})
        try:
            return compiled(job, documents)
        except Exception as error:  # noqa: BLE001 - what is found does not matter here
            return error

    check(SIZES[0])  # What is remembered is remembered before it is counted.
    assert_linear([steps(lambda n=n: check(n)) for n in SIZES])  # type: ignore[misc]


@pytest.mark.parametrize("space", ["\x0b", "\x0c", "\x85", "\xa0", "\u2028"])
def test_white_space_that_a_shell_does_not_split_at_is_part_of_a_word(space: str) -> None:
    assert [token.text for token in tokens(f"echo {space}a{space} b")] == ["echo", f"{space}a{space}", "b"]
