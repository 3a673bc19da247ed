// Bodies as agents send them, in miniature: under the strictest rules they pass.
#include <gtest/gtest.h>

#include "secrets/models/request_judge.h"

namespace warder::models {
namespace {

void expectPasses(Dialect dialect, const std::string& body, const std::string& model) {
  for (const std::size_t piece : {body.size(), std::size_t{1}, std::size_t{61}}) {
    JudgeRules rules;
    rules.dialect = dialect;
    rules.models = {"*"};
    rules.path_model = dialect == Dialect::Gemini || dialect == Dialect::Bedrock ? model : "";
    rules.needs_usage = true;
    RequestJudge judge(rules);
    for (std::size_t at = 0; at < body.size(); at += piece) judge.feed(body.substr(at, piece));
    EXPECT_TRUE(judge.finish()) << judge.refusal()->sentence;
    EXPECT_EQ(judge.model(), model);
  }
}

TEST(AgentBodies, ClaudeCode) {
  expectPasses(Dialect::Anthropic, R"json({
    "model":"claude-opus-5-5","messages":[
     {"role":"user","content":[{"type":"text","text":"<system-reminder>\nToday\u2019s date is \ud83d\udcc5\n</system-reminder>"},
      {"type":"text","text":"look at \u0060web_fetch\u0060","cache_control":{"type":"ephemeral","ttl":"1h"}}]},
     {"role":"assistant","content":[{"type":"thinking","thinking":"a tool of type url","signature":"EqQBCkYIBxgC"},
      {"type":"redacted_thinking","data":"EmwK"},
      {"type":"tool_use","id":"toolu_01","name":"Bash","input":{"command":"curl https://x.example","type":"web_search_20250305"},"caller":{"type":"direct"}},
      {"type":"tool_use","id":"toolu_02","name":"Read","input":{}}]},
     {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_01","is_error":true,"content":"{\"source\":{\"type\":\"url\"}} \ud83d"},
      {"type":"tool_result","tool_use_id":"toolu_02","content":[{"type":"text","text":"1\tmcp_servers"},
       {"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}},
       {"type":"tool_reference","tool_name":"Edit"}],"cache_control":{"type":"ephemeral"}}]}],
    "system":[{"type":"text","text":"x-anthropic-billing-header: cc_version=2.1.332"},
     {"type":"text","text":"You are Claude Code.","cache_control":{"type":"ephemeral","scope":"global"}}],
    "tools":[{"name":"Bash","description":"Runs.","input_schema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
      "properties":{"command":{"type":"string"},"timeout":{"type":"number","maximum":6e5}},"required":["command"],"additionalProperties":false},"eager_input_streaming":true},
     {"name":"WebFetch","input_schema":{"type":"object","properties":{"url":{"type":"string","format":"uri"}}},"defer_loading":true},
     {"type":"custom","name":"Edit","input_schema":{"type":"object"}},
     {"type":"tool_search_tool_regex_20251119","name":"tool_search_tool_regex"},
     {"type":"bash_20250124","name":"bash"},{"type":"text_editor_20250728","name":"str_replace_based_edit_tool"},
     {"type":"memory_20250818","name":"memory"}],
    "tool_choice":{"type":"auto"},"metadata":{"user_id":"{\"device_id\":\"d\",\"session_id\":\"s\"}"},"max_tokens":128000,
    "thinking":{"type":"adaptive"},"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]},
    "output_config":{"effort":"high"},"temperature":1,"stream":true})json",
               "claude-opus-5-5");
}

TEST(AgentBodies, Codex) {
  expectPasses(Dialect::OpenaiResponses, R"json({
    "model":"gpt-5.1-codex","instructions":"You are Codex.","input":[
     {"type":"additional_tools","role":"developer","tools":[{"type":"namespace","name":"functions","tools":[
       {"type":"custom","name":"exec","format":{"type":"grammar","syntax":"lark","definition":"start: /.+/"}},
       {"type":"function","name":"wait","strict":false,"parameters":{"type":"object","properties":{"server_url":{"type":"string"}}}}]}]},
     {"type":"message","role":"user","content":[{"type":"input_text","text":"https://x.example"}]},
     {"type":"reasoning","summary":[{"type":"summary_text","text":"s"}],"content":null,"encrypted_content":"gAAAA"},
     {"type":"custom_tool_call","call_id":"c1","name":"exec","input":"fetch('https://x')"},
     {"type":"custom_tool_call_output","call_id":"c1","output":[{"type":"input_text","text":"ok"},{"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgo="}]},
     {"type":"function_call","call_id":"c2","name":"exec_command","arguments":"{\"cmd\":\"ls\"}"},
     {"type":"function_call_output","call_id":"c2","output":"Exit code: 0"},
     {"type":"local_shell_call","call_id":"c3","status":"completed","action":{"type":"exec","command":["ls"]}}],
    "tools":[{"type":"function","name":"exec_command","strict":false,"parameters":{"type":"object","properties":{"cmd":{"type":"string"}}}},
     {"type":"custom","name":"apply_patch","format":{"type":"grammar","syntax":"lark","definition":"x"}},
     {"type":"web_search","external_web_access":false},{"type":"local_shell"}],
    "tool_choice":"auto","parallel_tool_calls":true,"reasoning":{"effort":"medium","summary":"auto"},"store":false,"stream":true,
    "include":["reasoning.encrypted_content"],"prompt_cache_key":"019a","text":{"verbosity":"low"},"client_metadata":{
  "x" : "y"
}
})json",
               "gpt-5.1-codex");
}

TEST(AgentBodies, OpencodePiAndQwen) {
  expectPasses(Dialect::OpenaiChat, R"json({
    "model":"qwen3-coder","messages":[{"role":"system","content":"s"},
     {"role":"user","content":[{"type":"text","text":"t","cache_control":{"type":"ephemeral"}},{"type":"image_url","image_url":{"url":"data:image/jpeg;base64,/9j/","detail":"auto"}}]},
     {"role":"assistant","content":null,"reasoning_content":"r","tool_calls":[{"id":"c","index":0,"type":"function","function":{"name":"shell","arguments":"{\"command\":\"ls\"}"}}]},
     {"role":"tool","tool_call_id":"c","content":"https://x.example"}],
    "tools":[{"type":"function","function":{"name":"shell","description":"d","parameters":{"type":"object","properties":{"model":{"type":"string"},"Model":{}}}}}],
    "temperature":0,"max_tokens":32000,"stream":true,"stream_options":{"include_usage":true},"store":false,"metadata":{"sessionId":"s"}})json",
               "qwen3-coder");
}

TEST(AgentBodies, GeminiCli) {
  expectPasses(Dialect::Gemini, R"json({
    "contents":[{"role":"user","parts":[{"text":"urlContext"}]},
     {"role":"model","parts":[{"text":"t","thought":true},{"functionCall":{"id":"f","name":"run_shell_command","args":{"command":"ls"}},"thoughtSignature":"CiQB"}]},
     {"role":"user","parts":[{"functionResponse":{"id":"f","name":"run_shell_command","response":{"output":"x"},"parts":[{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgo="}}]}}]}],
    "systemInstruction":{"role":"user","parts":[{"text":"s"}]},
    "tools":[{"functionDeclarations":[{"name":"web_fetch","description":"d","parametersJsonSchema":{"type":"object","properties":{"fileUri":{"type":"string"}}}}]}],
    "toolConfig":{"functionCallingConfig":{"mode":"AUTO"}},
    "generationConfig":{"temperature":1,"topP":0.95,"thinkingConfig":{"includeThoughts":true,"thinkingBudget":8192}}})json",
               "gemini-2.5-pro");
}

TEST(AgentBodies, ClaudeCodeOnBedrock) {
  expectPasses(Dialect::Bedrock, R"json({
    "anthropic_version":"bedrock-2023-05-31","anthropic_beta":["interleaved-thinking-2025-05-14"],"max_tokens":32000,
    "messages":[{"role":"user","content":[{"type":"text","text":"t","cache_control":{"type":"ephemeral"}}]}],
    "system":[{"type":"text","text":"s"}],"tools":[{"name":"Bash","input_schema":{"type":"object"}}],"thinking":{"type":"enabled","budget_tokens":1024}})json",
               "us.anthropic.claude-sonnet-4-20250514-v1:0");
}

}  // namespace
}  // namespace warder::models
