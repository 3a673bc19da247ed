"""How an init ends and what its exit code says; what it answers to wrong arguments."""
import os
import signal

import pytest
from init_place import FIRST_REAL_TIME, JOB_CONTROL, LAST, PYTHON

warder_only = pytest.mark.skipif(os.environ.get("WARDER_INIT", "warder") != "warder",
                                 reason="words of Warder's own")


def test_every_exit_code_is_the_commands(init):
    seen = {code: init.run("/bin/sh", "-c", f"exit {code}").code for code in range(256)}
    assert {code: got for code, got in seen.items() if got != code} == {}


def test_every_exit_code_can_count_as_success(init):
    seen = {code: init.run("/bin/sh", "-c", f"exit {code}", options={"exit_ok": [code]}).code
            for code in range(256)}
    assert set(seen.values()) == {0}


@pytest.mark.parametrize("code", [0, 1, 2, 127, 128, 254, 255])
def test_a_code_that_is_not_named_is_kept(init, code):
    others = [other for other in range(256) if other != code]
    assert init.run("/bin/sh", "-c", f"exit {code}", options={"exit_ok": others}).code == code


def test_the_code_of_a_signal_can_count_as_success(init):
    assert init.shell("kill -TERM $$", options={"exit_ok": [143]}).code == 0


def test_a_signal_that_ended_the_command_is_told_as_128_and_its_number(init):
    harmless = {signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH, signal.SIGSTOP, *JOB_CONTROL}
    deadly = [n for n in range(1, LAST + 1) if n not in harmless and not 32 <= n < FIRST_REAL_TIME]
    seen = {n: init.run(*PYTHON, "-c",
                        f"import os, resource, signal; resource.setrlimit(resource.RLIMIT_CORE, (0, 0));"
                        f"signal.signal({n}, signal.SIG_DFL) if {n} != 9 else 0; os.kill(os.getpid(), {n})").code
            for n in deadly}
    assert {n: code for n, code in seen.items() if code != 128 + n} == {}


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("make,code,word", [
    (lambda folder: "/no/such/program", 127, "/no/such/program"),
    (lambda folder: "no-such-program", 127, "no-such-program"),
    (lambda folder: "", 127, ""),
    (lambda folder: "/etc", 126, "/etc"),
    (lambda folder: write(folder, "#!/bin/sh\n", 0o644), 126, "program"),
    (lambda folder: write(folder, "#!/no/interpreter\n", 0o755), 127, "/no/interpreter"),
    (lambda folder: write(folder, "\x7fELF" + "\0" * 60, 0o755), 126, "program"),
    (lambda folder: write(folder, "#!/bin/sh\n", 0o755) + "/below", 127, "below"),
], ids=["no path", "not in PATH", "no name", "a folder", "not executable", "no interpreter", "not an ELF program",
        "below a file"])
def test_bc_095_a_command_that_cannot_start_has_its_code_and_a_sentence(init, folder, make, code, word, first):
    ran = init.run(make(folder), first=first)
    assert ran.code == code, ran.explain()
    assert word in ran.err
    if init.is_warder:
        said = [line for line in ran.err.splitlines() if "PID 1" not in line]
        assert len(said) == 1 and said[0].startswith("warder init: "), ran.err


def write(folder, text, mode):
    path = folder / "program"
    path.write_text(text)
    path.chmod(mode)
    return str(path)


@pytest.mark.parametrize("code", [126, 127])
def test_a_command_that_ends_with_a_code_of_a_failed_start_is_no_failed_start(init, code):
    ran = init.shell(f"exit {code}")
    assert (ran.code, ran.err) == (code, "")


def test_an_empty_path_is_told(init):
    ran = init.run("true", env={"PATH": ""})
    assert ran.code == 127 and ran.err, ran.explain()


def test_an_unset_path_is_the_usual_one(init):
    assert init.run("true", env={}).code == 0


def test_a_script_without_a_first_line_is_given_to_the_shell(init, folder):
    ran = init.run(write(folder, 'echo "got $1"\nexit 5\n', 0o755), "a word")
    assert (ran.code, ran.out) == (5, "got a word\n"), ran.explain()


def test_standard_input_reaches_the_command(init):
    read, write_end = os.pipe()
    os.write(write_end, b"exit 9\n")
    os.close(write_end)
    try:
        assert init.run("/bin/sh", stdin=read).code == 9
    finally:
        os.close(read)


def test_nothing_is_said_when_nothing_is_wrong(init):
    ran = init.run("/bin/true")
    assert (ran.code, ran.out, ran.err) == (0, "", "")


def test_a_very_fast_command_is_never_missed(init):
    codes = [init.run("/bin/sh", "-c", "exit 7").code for _ in range(50)]
    codes += [init.run("/bin/false").code for _ in range(150)]
    assert set(codes) == {7, 1}


@warder_only
def test_options_after_the_command_are_the_commands(init):
    words = ["--group", "--grace", "x", "--help", "--"]
    ran = init.run("/bin/echo", *words)
    assert (ran.code, ran.out) == (0, " ".join(words) + "\n") or "Usage" not in ran.out, ran.explain()
    bare = init.start_command([init.program, "init", "/bin/sh", "-c", "echo $1 $2", "sh", *words]).end()
    assert (bare.code, bare.out) == (0, "--group --grace\n"), bare.explain()


@warder_only
def test_a_second_separator_is_a_word_of_the_command(init):
    assert init.start_command([init.program, "init", "--", "--", "/bin/true"]).end().code == 127


@warder_only
def test_help_is_on_standard_output_and_is_no_failure(init):
    for words in (["init", "--help"], ["init", "-h"], ["--help"]):
        for first in (True, False):
            ran = init.start_command([init.program, *words], first=first).end()
            assert ran.code == 0 and ran.err == "", ran.explain()
            assert "init" in ran.out
    shown = init.start_command([init.program, "init", "--help"]).end().out
    for option in ("--rewrite", "--group", "--parent-death", "--exit-ok", "--grace", "--quiet"):
        assert option in shown


@warder_only
def test_the_version_is_told(init):
    ran = init.start_command([init.program, "--version"]).end()
    assert ran.code == 0 and ran.out.strip()[0].isdigit(), ran.explain()


@warder_only
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("words,nearest", [
    (["--gruop"], "--group"), (["--rewrit", "TERM=INT"], "--rewrite"), (["--exit-okay=3"], "--exit-ok"),
    (["--grce", "1s"], "--grace"), (["--yolo"], None), (["-x"], None)])
def test_an_unknown_option_names_the_nearest(init, words, nearest, first):
    ran = init.start_command([init.program, "init", *words, "--", "/bin/echo", "it ran"], first=first).end()
    assert ran.code == 2 and "it ran" not in ran.out, ran.explain()
    assert words[0].split("=")[0] in ran.err
    assert len(ran.err.splitlines()) == 1, ran.err
    if nearest:
        assert f"did you mean {nearest}?" in ran.err


@warder_only
@pytest.mark.parametrize("words", [
    ["--rewrite", "TERM"], ["--rewrite", "TERM="], ["--rewrite", "=INT"], ["--rewrite", "TERM=NOSUCH"],
    ["--rewrite", "0=INT"], ["--rewrite", "65=INT"], ["--rewrite", "TERM=65"], ["--rewrite", "TERM==INT"],
    ["--rewrite", "TERM=INT=HUP"], ["--rewrite", "-1=2"], ["--rewrite", "KILL=TERM"],
    ["--rewrite", "STOP=TERM"], ["--rewrite", "CHLD=TERM"], ["--rewrite", "SEGV=TERM"], ["--rewrite", ""],
    ["--rewrite", "TERM=INT", "--rewrite", "SIGTERM=HUP"],
    ["--exit-ok", "256"], ["--exit-ok", "-1"], ["--exit-ok", "x"], ["--exit-ok", "1.5"], ["--exit-ok", ""],
    ["--grace", "5"], ["--grace", "-1s"], ["--grace", "soon"], ["--grace", ""],
    ["--parent-death", "NOSUCH"], ["--parent-death", "0"], ["--parent-death", ""]],
    ids=lambda words: " ".join(words))
def test_a_wrong_value_is_refused_and_nothing_runs(init, words):
    ran = init.start_command([init.program, "init", *words, "--", "/bin/echo", "it ran"]).end()
    assert ran.code == 2 and "it ran" not in ran.out, ran.explain()
    assert words[0] in ran.err.splitlines()[0], ran.err


@warder_only
@pytest.mark.parametrize("words", [["init"], ["init", "--"], ["init", "--group"], ["init", "--grace"],
                                   ["init", "--rewrite"], []])
def test_without_a_command_it_says_what_is_missing(init, words):
    ran = init.start_command([init.program, *words]).end()
    assert ran.code == 2 and ran.err, ran.explain()


@warder_only
@pytest.mark.parametrize("words,name", [
    ([], "init"), (["--quiet"], "init"), (["--"], "init"), (["--grace", "1s"], "init"), (["--grace=1s"], "init")])
def test_it_is_an_init_by_its_name(init, folder, words, name):
    link = folder / name
    link.symlink_to(init.program)
    ran = init.start_command([link, *words, "/bin/sh", "-c", "echo $PPID"]).end()
    assert (ran.code, ran.out) == (0, "1\n"), ran.explain()


@warder_only
def test_it_is_an_init_as_pid_1(init):
    ran = init.start_command([init.program, "/bin/sh", "-c", "echo $PPID; exit 4"]).end()
    assert (ran.code, ran.out) == (4, "1\n"), ran.explain()


@warder_only
def test_a_command_of_its_own_is_still_one_as_pid_1(init):
    ran = init.start_command([init.program, "schema"]).end()
    assert ran.code == 0 and "$schema" in ran.out, ran.explain()
