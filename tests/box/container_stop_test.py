"""How `docker stop` ends a container: everybody is asked, and nobody is cut (BC-037)."""
import container_images
import pytest

BOX, DEBIAN = container_images.BOX, container_images.DEBIAN
KILLED = 137  # what Docker reports when its own patience (10 s) was over

POLITE = "trap 'echo agent stopped; exit 3' TERM; echo ready; while :; do sleep 0.1; done"


def test_bc_037_the_agent_is_asked_and_its_code_is_kept(docker):
    box = docker.begin(BOX, "/bin/sh", "-c", POLITE)
    box.says("ready")
    assert box.stop() == 3
    assert box.logs()[0] == "ready\nagent stopped\n"


def test_bc_037_an_agent_that_dies_of_the_signal_is_reported_so(docker):
    box = docker.begin(BOX, "/bin/sh", "-c", "echo ready; exec sleep 600")
    box.says("ready")
    assert box.stop() == 143


@pytest.mark.parametrize("signal, code", [("INT", 130), ("QUIT", 131), ("HUP", 129), ("USR1", 138)])
def test_bc_037_the_images_own_stop_signal_reaches_the_agent(docker, signal, code):
    box = docker.begin(BOX, "/bin/sh", "-c", "echo ready; exec sleep 600", options=("--stop-signal", f"SIG{signal}"))
    box.says("ready")
    assert box.stop() == code


def test_bc_037_a_child_that_outlives_the_agent_may_finish_its_work(docker):
    child = "trap 'sleep 1; echo child finished; exit' TERM; echo ready; while :; do sleep 0.1; done"
    box = docker.begin(BOX, "/bin/sh", "-c", f"sh -c \"{child}\" & exec sleep 600")
    box.says("ready")
    assert box.stop() == 143
    assert "child finished" in box.logs()[0]


def test_bc_037_a_child_that_ignores_the_signal_is_killed_within_dockers_patience(docker):
    box = docker.begin(BOX, "/bin/sh", "-c", "sh -c \"trap '' TERM; echo ready; while :; do sleep 1; done\" & "
                                             "trap 'exit 4' TERM; while :; do sleep 0.1; done")
    box.says("ready")
    assert box.stop() == 4
    assert "killed" in box.logs()[1]  # who was cut is told


def test_bc_037_a_child_that_is_stopped_is_ended_too(docker):
    box = docker.begin(BOX, "/bin/sh", "-c", "sleep 600 & kill -STOP $!; echo ready; trap 'exit 4' TERM; "
                                             "while :; do sleep 0.1; done")
    box.says("ready")
    assert box.stop() == 4


def test_bc_037_a_stop_right_after_the_start_is_not_lost(docker):
    for _ in range(5):
        box = docker.begin(BOX, "/bin/sleep", "600")
        assert box.stop() == 143
