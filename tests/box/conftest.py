"""Fixtures: real programs, a real provider over TLS, a real collector, and a look for leftovers."""
import collections
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import container_images  # noqa: E402
import containers  # noqa: E402
import world  # noqa: E402
from init_place import init, init_programs, terminal  # noqa: E402,F401

Tools = collections.namedtuple("Tools", "warder collector agent_folder tls")


def place(source, target):
    """The same file at a path that every user may walk to."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
    target.chmod(0o755)


@pytest.fixture(scope="session")
def machine():
    """A folder outside of the tree, readable for all: homes of root are not."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="warder-box-", dir="/var/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def tools(machine):
    for name in ("warder", "warder-collector"):
        if not (world.BUILD / name).exists():
            pytest.fail(f"{world.BUILD / name} is not built")
        place(world.BUILD / name, machine / name)
    (machine / "agent").mkdir()
    agent = subprocess.run([world.ROOT / "scripts/install-agent"], check=True, capture_output=True, text=True)
    place(pathlib.Path(agent.stdout.strip()), machine / "agent" / "claude")
    subprocess.run([world.ROOT / "scripts/provider-tls", machine / "tls"], check=True)
    (machine / "tls").chmod(0o755)
    return Tools(machine / "warder", machine / "warder-collector", machine / "agent", machine / "tls")


@pytest.fixture
def folder(machine, request):
    """This test's own folder."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="test-", dir=machine))
    path.chmod(0o755)
    yield path
    subprocess.run(["chmod", "-R", "u+rwX", path], check=False)
    shutil.rmtree(path)


@pytest.fixture(params=["root", "ordinary"])
def person(request, folder, tools):
    """Every test runs for root and for an ordinary user."""
    if request.param == "root" and os.getuid() != 0:
        pytest.skip("needs root")
    person = world.Person(request.param, folder / request.param, tools)
    yield person
    person.leave()


@pytest.fixture
def root(folder, tools):
    if os.getuid() != 0:
        pytest.skip("needs root")
    person = world.Person("root", folder / "root", tools)
    yield person
    person.leave()


@pytest.fixture
def provider(folder, tools):
    """Starts a scripted provider: provider("file_and_shell") or provider({...})."""
    started = []

    def start(scenario, key=None):
        started.append(world.Provider(folder / f"provider-{len(started)}", tools.tls, scenario,
                                      key or world.new_key()))
        return started[-1]

    yield start
    for server in started:
        server.stop()


@pytest.fixture
def collector(folder, tools):
    """Starts a collector: collector("--lease", "2")."""
    started = []

    def start(*words, name="collector", **options):
        started.append(world.Collector(folder / name, tools, *words, **options))
        return started[-1]

    yield start
    for server in started:
        server.stop()


@pytest.fixture(scope="session")
def engine(tools):
    """A Docker Engine of our own, with images that hold the programs under test."""
    reason = containers.reason_to_skip()
    if reason:
        pytest.skip(reason)
    agent = world.ROOT / "build/agents/claude-code/bin/claude"
    engine = containers.Engine(containers.KEPT / "engine")
    try:
        engine.start(network="host")
        container_images.make(engine, agent)
        engine.stop()
        engine.start()
        yield engine
    finally:
        engine.close()


@pytest.fixture
def docker(engine):
    """The engine, from which a test's containers are removed when it ends."""
    yield engine
    engine.remove_containers()


# What other tests and tools of this project put there while they run.
OTHERS = ("warder-test-", "warder-microvm-", "warder-probe-", "warder-soak-", "warder-bench-", "warder-box-")


def leftovers(machine):
    """What a box could leave on the machine: mounts, processes, control groups, files."""
    found = set()
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        if "warder" in line:
            found.add("mount " + line.split()[4])
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            program = os.readlink(process / "exe")
            inside = os.readlink(process / "ns/pid") != os.readlink("/proc/self/ns/pid")
            words = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if program == str(machine / "warder") or inside and str(machine) in words:
            found.add(f"process {process.name} {words}")
    for parent in ("/tmp", "/var/tmp", "/run", "/dev/shm"):
        for path in pathlib.Path(parent).glob("*warder*"):
            if not path.name.startswith(OTHERS):
                found.add(f"file {path}")
    for above, names, _ in os.walk("/sys/fs/cgroup"):  # which bears with groups that go meanwhile
        found.update(f"control group {above}/{name}" for name in names if "warder" in name)
    return found


@pytest.fixture(autouse=True)
def nothing_left(machine):
    """No test may leave anything on the machine but its spool and its results."""
    before = leftovers(machine)
    yield
    left = world.eventually(lambda: not (leftovers(machine) - before), 10) or leftovers(machine) - before
    assert left is True, "left behind: " + ", ".join(sorted(left))
