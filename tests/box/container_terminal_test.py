"""`docker run -it`: job control, window size and keys of a terminal."""
import container_images
import containers
import pytest

BOX, DEBIAN = container_images.BOX, container_images.DEBIAN
PROMPT = ("--env", "PS1=prompt: ")


@pytest.fixture
def terminal(docker):
    """Starts `docker run -it` on a terminal: terminal(IMAGE, COMMAND...)."""
    started = []

    def start(image, *command, options=()):
        started.append(containers.Terminal(docker.command("run", "-it", *PROMPT, *options, image, *command)))
        return started[-1]

    yield start
    for one in started:
        one.leave()


@pytest.mark.parametrize("options", [(), ("--user", "1000"), ("--init",)], ids=["root", "user", "beneath an init"])
def test_a_shell_has_job_control_and_ctrl_c_ends_what_runs_and_not_the_shell(terminal, options):
    shell = terminal(DEBIAN, "/bin/sh", "-i", options=options)
    shell.expect("prompt: ")
    assert "job control" not in shell.read()
    shell.type("sleep 600; echo code $?\n")
    shell.expect("code $?")
    shell.type("\x03")
    shell.expect("prompt: ")
    shell.type("sleep 600\n")
    shell.expect("sleep 600")
    shell.type("\x1a")  # Ctrl-Z
    shell.expect("Stopped")
    shell.expect("prompt: ")
    shell.type("fg\n")
    shell.expect("sleep 600")
    shell.type("\x03")
    shell.expect("prompt: ")
    shell.type("exit 9\n")
    assert shell.end() == 9


def test_ctrl_c_ends_a_command_that_is_no_shell(terminal):
    sleeper = terminal(BOX, "/bin/sh", "-c", "echo up; exec sleep 600")
    sleeper.expect("up")
    sleeper.type("\x03")
    assert sleeper.end() == 130


def test_ctrl_backslash_and_a_trap(terminal):
    shell = terminal(BOX, "/bin/sh", "-c", "trap 'echo got INT' INT; trap 'exit 6' QUIT; echo up; "
                                           "while :; do sleep 0.1; done")
    shell.expect("up")
    shell.type("\x03")
    shell.expect("got INT")
    shell.type("\x1c")
    assert shell.end() == 6


def test_the_window_has_its_size_and_a_change_is_told(terminal):
    # Docker's client sets the first size a moment after the start.
    shell = terminal(DEBIAN, "/bin/sh", "-c", "trap 'echo now $(stty size)' WINCH; trap 'exit 6' QUIT; "
                                              "while [ \"$(stty size)\" != '31 117' ]; do sleep 0.1; done; echo first; "
                                              "while :; do sleep 0.1; done")
    shell.expect("first")
    shell.resize(50, 90)
    shell.expect("now 50 90")
    shell.type("\x1c")
    assert shell.end() == 6


def test_an_agent_that_detaches_from_the_terminal_is_still_the_agent(terminal):
    one = terminal(DEBIAN, "/bin/sh", "-c", "setsid -w sh -c 'sleep 0.2; echo detached'; exit 3")
    one.expect("detached")
    assert one.end() == 3


def test_a_terminal_that_goes_away_does_not_end_the_container(docker, terminal):
    # Docker's client lets go of a container by its escape keys; the terminal inside stays open.
    shell = terminal(BOX, "/bin/sh", "-c", "echo up; sleep 600", options=("--name", "left-alone"))
    shell.expect("up")
    shell.type("\x10\x11")
    shell.end()
    box = containers.Container(docker, "left-alone")
    assert box.state()["Running"]
    assert box.stop() == 143
