"""`warder check JOB --explain`: which rule decides about a host or a request (BC-068)."""
import json

POLICY = {"allow": ["*.b.example", {"host": "pinned.b.example", "tls": "tunnel"},
                    {"host": "a.example", "methods": ["GET"], "paths": ["/v1/**"]}],
          "deny": ["gone.b.example"]}


def explain(person, question, *flags):
    job = person.job(agent={"command": ["/bin/true"]}, policy=POLICY)
    return person.warder("check", job, "--explain", question, *flags)


def test_it_prints_the_deciding_rule_for_hosts_and_requests(person):
    for question, words in {
            "x.b.example": ["HTTP in TLS is allowed by the rule at", "*.b.example:443"],
            "x.y.b.example": ["no rule allows this host and port", "is not answered"],
            "pinned.b.example:443": ["a TLS tunnel is allowed by the rule at", "not inspected"],
            "gone.b.example": ["is denied by the rule at"],
            "GET https://a.example/v1/x": ["is allowed by the rule at"],
            "POST https://a.example/v1/x": ["no rule for this host and port allows this method and path"]}.items():
        ran = explain(person, question)
        assert ran.returncode == 0, ran.stderr
        assert ran.stdout.startswith("connection "), ran.stdout
        for word in words:
            assert word in ran.stdout, (question, ran.stdout)
    assert person.runs() == []


def test_it_answers_in_json_too(person):
    answer = json.loads(explain(person, "x.b.example", "--json").stdout)
    assert answer["ok"] is True and any("*.b.example" in line for line in answer["explanation"])


def test_what_is_no_question_is_refused_with_how_to_ask(person):
    for question, word in {"*.b.example": "is a pattern", "2852039166": "the address 169.254.169.254",
                           "a.example:0": "port"}.items():
        ran = explain(person, question)
        assert ran.returncode == 14 and word in ran.stderr and "ask about HOST" in ran.stderr, ran.stderr
        assert ran.stdout == ""
    assert json.loads(explain(person, "*", "--json").stdout)["ok"] is False
