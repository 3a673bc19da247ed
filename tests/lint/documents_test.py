"""What the documents say about the tree must be so."""
import re

import tree


def documents():
    return tree.tracked(".md")


def test_links_between_documents_lead_somewhere():
    faults = []
    for path in documents():
        text = path.read_text(encoding="utf-8")
        for match in re.finditer(r"\]\(([^)#\s]+)(#[^)]*)?\)", text):
            target = match.group(1)
            if "://" in target or target.startswith("mailto:"):
                continue
            if not (path.parent / target).exists():
                faults.append(f"{tree.name(path)}:{tree.line_of(text, match.start())}: {target}")
    assert not faults, "\n".join(faults)


def test_every_event_that_the_code_emits_is_described():
    described = set(re.findall(r"`([a-z_]+\.[a-z_]+)`", (tree.ROOT / "docs/events.md").read_text()))
    faults = []
    for path in tree.cpp(product_only=True):
        text = path.read_text(encoding="utf-8")
        for match in re.finditer(r'\.type = "([a-z_]+\.[a-z_]+)"|\bEvent\{\s*"([a-z_]+\.[a-z_]+)"', text):
            event = match.group(1) or match.group(2)
            if event not in described:
                faults.append(f"{tree.name(path)}:{tree.line_of(text, match.start())}: {event}")
    assert not faults, "\n".join(faults)


def test_every_limit_lies_in_the_file_that_owns_it():
    faults = []
    limits = tree.ROOT / "LIMITS.md"
    for line in limits.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        owner = re.match(r"`([\w./]+)`(?:,? `(\w+)`)?", cells[2]) if len(cells) >= 4 else None
        if owner is None:
            continue
        file = tree.ROOT / owner.group(1)
        if not file.exists():
            faults.append(f"{owner.group(1)} is not there")
        elif owner.group(2) and owner.group(2) not in file.read_text(encoding="utf-8"):
            faults.append(f"{owner.group(1)} does not name {owner.group(2)}")
    assert not faults, "\n".join(faults)
