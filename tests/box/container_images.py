"""The images that container tests run: made by the Dockerfile from programs that are built already."""
import glob
import json
import os
import pathlib
import subprocess

import containers
import world

BOX, DEBIAN, AGENT = "box", "debian-box", "agent"

DEBIAN_BOX = f"""
FROM debian:12
COPY --from=warder /warder /usr/local/bin/warder
ENTRYPOINT {json.dumps(["/usr/local/bin/warder", "init", "--"])}
"""


def build(engine, *words, **options):
    return engine.docker("build", "--quiet", "--network", "host", *words, timeout=900,
                         env={**os.environ, "DOCKER_BUILDKIT": "1"}, **options)


def warder():
    """The program under test."""
    return world.BUILD / "warder"


def extra_ca(engine):
    """The machine's additional CAs as a build secret."""
    files = sorted(glob.glob("/usr/local/share/ca-certificates/*.crt"))
    if not files:
        return ()
    bundle = engine.folder.parent / "extra-ca.pem"
    bundle.write_text("".join(pathlib.Path(file).read_text() for file in files))
    return "--secret", f"id=extra_ca,src={bundle}"


def make(engine, agent):
    """All images. Needs an engine that reaches package archives, the first time."""
    subprocess.run([world.ROOT / "image/base.sh", engine.folder], check=True)
    # What the stages of the Dockerfile that compile and install would have made, at the same paths.
    engine.import_root("programs", {f"/src/build/release-static/{name}": world.BUILD / name
                                    for name in ("warder", "warder-collector")})
    agent_program = "agent-program:" + (agent.parent.parent / "version").read_text().strip()
    if not engine.has(agent_program):
        engine.import_root(agent_program, {"/opt/claude-code/bin/claude": agent})
    made = ("--build-arg", "WARDER_FROM=programs", "--build-arg", f"AGENT_FROM={agent_program}")

    build(engine, "--target", "binary", "--tag", "warder", *made, world.ROOT)
    build(engine, "--target", "claude-code", "--tag", AGENT, *extra_ca(engine), *made, world.ROOT)
    build(engine, "--tag", DEBIAN, "-", input=DEBIAN_BOX)
    engine.import_root(BOX, {**containers.busybox_root(), "/warder": warder(), "/bin/warder": containers.Link("/warder")},
                       entrypoint=containers.INIT)
    engine.docker("image", "prune", "--force")
    engine.docker("builder", "prune", "--force", "--keep-storage", "2GB")
