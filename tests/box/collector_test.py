"""Results get home, at once or later; nothing is lost when the collector is not there."""
import world


def test_a_collector_that_is_down_costs_an_exit_code_and_nothing_else(person, collector):
    port = world.free_port()
    sink = {"collector": f"http://127.0.0.1:{port}", "token": {"file": str(person.write("token", "0" * 32, 0o600))}}
    person.write("workspace/out.txt", "kept\n")
    ran = person.run_command("/bin/true", results={"artifacts": ["out.txt"], "to": [sink], "deliver_within": "1s"})
    assert ran.code == 64, ran.explain()
    assert ran.report["outcome"]["class"] == "ok"
    assert "deliver" in ran.stdout + ran.stderr, "it says what to do next"

    home = collector(listen=f"127.0.0.1:{port}")
    sent = person.warder("deliver", ran.run_dir, "--collector", home.url, "--token-file", home.token_file)
    assert sent.returncode == 0, sent.stdout + sent.stderr
    assert home.run(ran.run_id)["report"]["outcome"]["class"] == "ok"
    again = person.warder("deliver", ran.run_dir, "--collector", home.url, "--token-file", home.token_file)
    assert again.returncode == 0, again.stdout + again.stderr
    assert [run["run_id"] for run in home.runs()] == [ran.run_id]


def test_a_failed_run_that_was_not_delivered_keeps_both_facts_in_its_exit_code(person):
    sink = {"collector": f"http://127.0.0.1:{world.free_port()}",
            "token": {"file": str(person.write("token", "0" * 32, 0o600))}}
    ran = person.run_shell("exit 3", results={"to": [sink], "deliver_within": "1s"})
    assert ran.code == 64 + 1, ran.explain()


def test_a_wrong_token_is_not_delivered_and_said(person, collector):
    sink = collector()
    wrong = person.write("token", "not the token at all", 0o600)
    ran = person.run_command("/bin/true", results={"to": [sink.sink(wrong)], "deliver_within": "2s"})
    assert ran.code == 64, ran.explain()
    assert sink.runs() == []


def test_a_collector_with_a_certificate_of_ones_own_ca(person, collector, tools):
    home = collector("--tls-cert", tools.tls / "server.pem", "--tls-key", tools.tls / "server.key")
    ca_file = person.write("ca.pem", (tools.tls / "ca.pem").read_text(), 0o600)
    sink = {**home.sink(), "collector": f"https://{home.address}", "ca_file": str(ca_file)}
    ran = person.run_command("/bin/true", results={"to": [sink]})
    assert ran.code == 0, ran.explain()
    stranger = {name: value for name, value in sink.items() if name != "ca_file"}
    ran = person.run_command("/bin/true", results={"to": [stranger], "deliver_within": "1s"})
    assert ran.code == 64, ran.explain()
