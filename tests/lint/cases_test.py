"""Failures that real people met are held by at least one test each, which names them."""
import re

import pytest
import tree

CASES = [1, 2, 4, 5, 7, 8, 16, 17, 26, 37, 38, 40, 41, 43, 44, 46, 79, 80, 82, 83, 85, 86, 89, 94, 95, 97, 101, 109, 110, 124, 125, 127, 128]


@pytest.mark.parametrize("number", CASES)
def test_the_case_is_named_by_a_test(number):
    word = re.compile(rf"BC[-_]?0*{number}(?!\d)", re.IGNORECASE)
    named = [tree.name(path) for path in tree.tracked(".cpp", ".py")
             if re.search(r"tests/(unit|component|box)/.*_test\.(cpp|py)$", tree.name(path))
             and word.search(path.read_text(encoding="utf-8"))]
    assert named, f"no test names BC-{number:03}"
