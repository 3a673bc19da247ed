"""g++ 12 miscompiles some expressions around co_await (double frees); these shapes are kept out."""
import re

import tree

PLACES = ("supervisor/net/", "secrets/", "supervisor/courier/", "collector/", "tests/")


def statement(clean, position):
    """The text of the statement around `position`, up to `;` or the `{` of a block."""
    start = max(clean.rfind(mark, 0, position) for mark in ";{}") + 1
    depth, end = 0, start
    while end < len(clean):
        char = clean[end]
        if char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
        elif char == ";" and depth <= 0 or char == "{" and depth <= 0 and end > position:
            break
        end += 1
    return clean[start:end]


def awaits():
    for path in tree.cpp():
        clean = tree.code(path.read_text(encoding="utf-8"))
        for match in re.finditer(r"\bco_await\b", clean):
            yield path, tree.line_of(clean, match.start()), statement(clean, match.start())


def test_coroutines_live_only_where_the_network_is():
    faults = [f"{tree.name(path)}:{line}" for path, line, _ in awaits()
              if not tree.name(path).startswith(PLACES)]
    assert not faults, "\n".join(faults)


def test_no_lambda_aggregate_braced_list_or_choice_stands_in_an_awaiting_statement():
    faults = []
    for path, line, text in awaits():
        where = f"{tree.name(path)}:{line}"
        if "?" in text:
            faults.append(f"{where}: ?: beside co_await")
        if "{" in text:
            faults.append(f"{where}: a braced list, aggregate or lambda beside co_await; name it first")
        if re.search(r"[(,=]\s*\[", text):
            faults.append(f"{where}: a lambda beside co_await; name it first")
    assert not faults, "\n".join(faults)


def test_coroutines_bind_no_temporaries_and_are_no_capturing_lambdas():
    faults = []
    for path in tree.cpp(product_only=True):
        text = path.read_text(encoding="utf-8")
        clean = tree.code(text)
        for match in re.finditer(r"\bawaitable<[^;{}()]*>\s+[\w:]+\s*\(", clean):
            depth, end = 1, match.end()
            while depth and end < len(clean):
                depth += {"(": 1, ")": -1}.get(clean[end], 0)
                end += 1
            parameters = clean[match.end():end - 1]
            # A plain T& cannot bind a temporary; these two can, and the frame would outlive it.
            if re.search(r"\bconst\b[^,]*&|&&", parameters):
                faults.append(f"{tree.name(path)}:{tree.line_of(clean, match.start())}: "
                              f"({' '.join(parameters.split())})")
        for match in re.finditer(r"\[[^\]]+\]\s*\([^)]*\)\s*(mutable\s*)?->\s*[\w:]*awaitable", clean):
            faults.append(f"{tree.name(path)}:{tree.line_of(clean, match.start())}: "
                          "a capturing lambda is a coroutine")
    assert not faults, "\n".join(faults)
