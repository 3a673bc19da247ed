"""What a real Claude Code makes of a provider that fails, and what its run says of it.

One run for each failure of the scripted provider; the words are compared with what the provider
served, so that nobody has to guess from an exit code.
"""
import json

import pytest
import world

ONCE = {"CLAUDE_CODE_MAX_RETRIES": "1"}  # else it tries for minutes
ERRORS = {400: "llm_refused_request", 401: "llm_auth", 402: "llm_quota", 403: "llm_auth",
          404: "llm_refused_request", 413: "llm_refused_request", 429: "llm_rate_limited",
          500: "llm_overloaded", 503: "llm_overloaded", 529: "llm_overloaded"}


@pytest.fixture
def ask(root, provider):
    """Runs Claude Code against a scenario: ask("plain")."""
    def run(scenario, **env):
        upstream = provider(scenario)
        key_file = root.write("key", upstream.key, 0o600)
        ran = root.run(root.job(
            agent={"preset": "claude-code", "prompt": "say hi", "env": {**ONCE, **env},
                   "read_only": [str(root.tools.agent_folder)]},
            secrets=upstream.secret(key_file), policy=upstream.policy(), limits={"wall": "2m"}))
        assert all(call["key_ok"] for call in upstream.requests())
        return ran, upstream
    return run


def calls_of(ran):
    return [event["data"] for event in ran.events("llm.call")]


@pytest.mark.parametrize("status", ERRORS)
def test_an_error_of_the_provider_is_the_providers(ask, status):
    ran, upstream = ask(f"err_{status}")
    assert ran.code == 12, ran.explain()
    report, calls = ran.report, calls_of(ran)
    assert (report["outcome"]["class"], report["outcome"]["reason"]) == ("provider", ERRORS[status])
    assert str(status) in json.dumps(report["outcome"]["evidence"]), report["outcome"]
    # Every try was told with the provider's own status, and none was made of the broker's own.
    served = [int(entry["fault"].split()[1]) for entry in upstream.requests()]
    assert set(served) == {status} and [call["status"] for call in calls] == served
    assert sum(model["errors"] for model in report["usage"]["by_model"]) == len(calls)
    assert ran.events("dns.denied") == []
    assert report["egress"]["denied"] == 0 and report["egress"]["upstream_failures"] == 0


def test_cuts_are_told_and_got_over(ask):
    ran, _ = ask("cuts", CLAUDE_CODE_MAX_RETRIES="5")
    assert ran.code == 0, ran.explain()
    assert "Recovered after cuts." in ran.output
    # One before any answer, one amid it.
    assert [event["data"]["why"] for event in ran.events("broker.upstream_failed")] == ["closed", "closed"]
    assert [call["ended"] for call in calls_of(ran)][-2:] == ["cut", "complete"], calls_of(ran)
    assert ran.report["egress"]["upstream_failures"] == 2


def test_cuts_without_end_are_the_providers(ask):
    ran, _ = ask({"turns": [{"cut": "accept", "times": -1}]})
    assert ran.code == 12, ran.explain()
    assert ran.report["outcome"]["reason"] == "llm_unreachable"
    assert {event["data"]["why"] for event in ran.events("broker.upstream_failed")} == {"closed"}


def test_an_error_amid_a_stream_is_the_providers(ask):
    ran, _ = ask({"turns": [{"text": "a text that fails", "stream_error": "overloaded_error", "after": 2,
                             "times": -1}]})
    assert ran.code == 12, ran.explain()
    assert ran.report["outcome"]["reason"] == "llm_overloaded"
    # It tries without a stream too, and then the provider has a status for the same thing.
    told = {(call["streamed"], call["status"], call["error"]) for call in calls_of(ran)}
    assert (True, 200, "overloaded_error") in told, told
    assert told <= {(True, 200, "overloaded_error"), (False, 500, "api_error")}, told


def test_an_answer_that_is_none_is_told_as_a_call_that_used_nothing(ask):
    """The broker does not say that a page is no answer; the agent does, and its words are in the report."""
    ran, _ = ask({"turns": [{"garbage": True, "times": -1}]})
    assert ran.code == 1, ran.explain()
    report, calls = ran.report, calls_of(ran)
    assert report["outcome"]["reason"] == "agent_reported_failure" and report["agent_claim"]["is_error"]
    assert calls and all(call["status"] == 200 and call["ended"] == "complete" for call in calls), calls
    assert sum(call["input_tokens"] + call["output_tokens"] for call in calls) == 0, calls


@pytest.mark.parametrize("scenario", ["hang", "stall"])
def test_a_silent_provider_is_left_by_the_agent_and_that_is_told(ask, scenario):
    ran, _ = ask(scenario, API_TIMEOUT_MS="2000", CLAUDE_CODE_MAX_RETRIES="0",
                 CLAUDE_BYTE_STREAM_IDLE_TIMEOUT_MS="2000", CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK="1")
    assert {call["ended"] for call in calls_of(ran)} == {"client_gone"}
    assert ran.code == 1, ran.explain()
