"""The reader's own rules: the text called wrong gives its code, the one called right does not."""

from __future__ import annotations

import re
from importlib.resources import files

from reading import errors_of
from tables import cases


@cases("code")
def test_the_one_error_of_what_is_wrong_is_the_rules_own(code: str) -> None:
    text = (files("trainc.findings") / "rules" / f"{code}.md").read_text(encoding="utf-8")
    wrong, right = re.findall(r"```yaml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert {found for found, _, _ in errors_of(wrong)} == {code}
    assert errors_of(right) == []
