"""The tree as the lint tests see it: its files, and C++ text without comments and strings."""
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
PRODUCT = ("supervisor", "policies", "secrets", "collector")


def tracked(*suffixes):
    """Files that belong to the project (known to git, or new and not ignored)."""
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        check=True, capture_output=True, text=True).stdout.split("\0")
    paths = sorted(ROOT / name for name in set(listed) if name)
    return [path for path in paths if path.is_file() and (not suffixes or path.suffix in suffixes)]


def cpp(product_only=False):
    files = tracked(".h", ".cpp")
    if not product_only:
        return files
    return [path for path in files if name(path).split("/")[0] in PRODUCT]


def name(path):
    return path.relative_to(ROOT).as_posix()


_TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)"'
    r'|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Za-z_])\'(?:\\.|[^\'\\\n])+\'', re.S)


def _blank(match):
    token = match.group(0)
    if token.startswith("/"):
        return re.sub(r"[^\n]", " ", token)
    return token[0] + re.sub(r"[^\n]", " ", token[1:-1]) + token[-1]


def code(text):
    """The text with comments and the inside of literals blanked; positions stay."""
    return _TOKEN.sub(_blank, text)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def functions(text):
    """(first line, last line, signature) of each function body outside of functions."""
    clean = re.sub(r"^[ \t]*#(?:[^\n\\]|\\\n|\\.)*", lambda m: re.sub(r"[^\n]", " ", m.group(0)),
                   code(text), flags=re.M)
    found, stack, start = [], [], 0
    for position, char in enumerate(clean):
        if char == "{":
            head = clean[start:position].strip()
            if any(kind == "body" for kind, _ in stack):
                kind = "inner"
            elif re.match(r"(inline\s+)?(namespace|extern)\b", head):
                kind = "scope"
            elif re.search(r"\b(class|struct|union|enum)\b[^()]*$", head) or head.endswith("="):
                kind = "scope"
            elif re.search(r"\)[^()=]*(->[^{};]*)?$|\)\s*:\s*[^;]*$", head):
                kind = "body"
            else:
                kind = "scope"
            lead = len(clean[start:position]) - len(clean[start:position].lstrip())
            stack.append((kind, (start + lead, head)))
            start = position + 1
        elif char == "}":
            if stack:
                kind, (begin, head) = stack.pop()
                if kind == "body":
                    found.append((line_of(clean, begin), line_of(clean, position), head))
            start = position + 1
        elif char == ";" and not any(kind == "body" for kind, _ in stack):
            start = position + 1
    return found
