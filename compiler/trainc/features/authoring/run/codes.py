"""The diagnostic codes of this feature; rules/ has the page of each."""

CODES = {
    "run": {
        "error": "ContainersOnly NothingToStart ProgramNotHere",
        "warning": "RecipeReplaced ValueNotHere",
        "info": "CommandReplaced ScaledForRun",
    },
}
