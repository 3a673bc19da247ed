"""Who may include whom. Includes point down only; rooms of one height do not know each other."""
import re

import tree

ALL = {"base", "boot", "net", "job", "policies", "http", "vault", "models", "dns", "ca",
       "secrets", "launch",
       "watch", "journal", "report", "courier", "init"}
ROOMS = {  # folder: (room, rooms that it may include besides itself)
    "supervisor/base": ("base", set()),
    "supervisor/net": ("net", {"base"}),
    "supervisor/boot": ("boot", {"base"}),
    "supervisor/job": ("job", {"base"}),
    "policies": ("policies", {"base"}),
    "secrets/http": ("http", {"base"}),
    "secrets/vault": ("vault", {"base", "http"}),
    "secrets/ca": ("ca", {"base", "net"}),
    "secrets/models": ("models", {"base", "http"}),
    "secrets/dns": ("dns", {"base", "policies"}),
    "secrets": ("secrets", {"base", "net", "policies", "http", "vault", "models", "dns", "ca"}),
    "supervisor/launch": ("launch", {"base", "job", "policies"}),
    "supervisor/watch": ("watch", {"base", "policies"}),
    "supervisor/journal": ("journal", {"base"}),
    "supervisor/report": ("report", {"base", "journal"}),
    "supervisor/courier": ("courier", {"base", "net", "journal"}),
    "supervisor/init": ("init", ALL),
    "supervisor/cli": ("cli", ALL),
    "collector": ("collector", {"base", "journal"}),
}
MAINS = {"supervisor/main.cpp": ALL | {"cli"}, "collector/main/main.cpp": {"base", "collector"}}

# A library, the header that gives it away, and where it may appear.
LIBRARIES = {
    "yaml-cpp": (r"yaml-cpp/", ("supervisor/base/yaml_", "secrets/models/provider")),
    "spdlog": (r"spdlog/|fmt/", ("supervisor/base/log.cpp",)),
    "Asio": (r"boost/asio", ("supervisor/net/", "secrets/", "supervisor/journal/",
                             "supervisor/courier/", "supervisor/init/", "supervisor/cli/",
                             "collector/")),
    "Beast": (r"boost/beast", ("supervisor/net/", "secrets/", "supervisor/courier/", "collector/")),
    "OpenSSL": (r"openssl/", ("supervisor/net/", "secrets/", "supervisor/journal/",
                              "supervisor/report/", "supervisor/courier/", "collector/",
                              "supervisor/job/digest.", "supervisor/launch/trust_java.")),
    "libseccomp": (r"seccomp\.h", ("supervisor/launch/", "secrets/")),
    "SQLite": (r"sqlite3", ("collector/",)),
    "CLI11": (r"CLI/", ("supervisor/cli/", "supervisor/main.cpp", "collector/")),
    "c-ares": (r"ares", ("supervisor/net/",)),
    "Boost.Process": (r"boost/process", ()),
}


def folder_of(path):
    return max((folder for folder in ROOMS if path.startswith(folder + "/")), key=len, default=None)


def includes(path):
    text = path.read_text(encoding="utf-8")
    for match in re.finditer(r'^\s*#\s*include\s*(["<])([^">]+)[">]', text, re.M):
        yield tree.line_of(text, match.start()), match.group(1), match.group(2)


def test_rooms_include_only_what_lies_below_them():
    faults = []
    for path in tree.cpp(product_only=True):
        name = tree.name(path)
        folder = folder_of(name)
        if name in MAINS:
            room, allowed = None, MAINS[name]
        elif folder is None:
            faults.append(f"{name}: lies in no room")
            continue
        else:
            room, allowed = ROOMS[folder]
        for line, quote, target in includes(path):
            target_folder = folder_of(target)
            if quote == '"' and target_folder is None:
                faults.append(f"{name}:{line}: \"{target}\" is no path from the top of the tree")
            elif target_folder and ROOMS[target_folder][0] not in allowed | {room}:
                faults.append(f"{name}:{line}: {room or 'main'} may not include {target}")
    assert not faults, "\n".join(faults)


def test_libraries_appear_only_where_they_are_allowed():
    faults = []
    for path in tree.cpp(product_only=True):
        for line, quote, target in includes(path):
            for library, (pattern, places) in LIBRARIES.items():
                if quote == "<" and re.match(pattern, target) and not tree.name(path).startswith(places):
                    faults.append(f"{tree.name(path)}:{line}: {library} is not allowed here")
    assert not faults, "\n".join(faults)


def test_heavy_headers_stay_out_of_headers():
    faults = [f"{tree.name(path)}:{line}: {target}"
              for path in tree.cpp(product_only=True) if path.suffix == ".h"
              for line, _, target in includes(path)
              if re.match(r"boost/beast|yaml-cpp/|openssl/ssl", target)]
    assert not faults, "\n".join(faults)


def test_headers_are_guarded_and_namespaces_are_the_folder_names():
    faults = []
    for path in tree.cpp(product_only=True):
        name, text = tree.name(path), path.read_text(encoding="utf-8")
        if path.suffix == ".h" and "#pragma once" not in text:
            faults.append(f"{name}: no #pragma once")
        folder = folder_of(name)
        if name in MAINS or folder is None:
            continue
        if f"namespace warder::{ROOMS[folder][0]}" not in text:
            faults.append(f"{name}: is not in namespace warder::{ROOMS[folder][0]}")
    assert not faults, "\n".join(faults)
