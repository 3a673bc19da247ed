// What makes a provider go out on its own, and what only looks like it.
#include <gtest/gtest.h>

#include "secrets/models/request_judge.h"

namespace warder::models {
namespace {

std::string judged(Dialect dialect, std::string_view body, bool provider_fetch = false) {
  JudgeRules rules;
  rules.dialect = dialect;
  rules.provider_fetch = provider_fetch;
  RequestJudge judge(rules);
  judge.feed(body);
  judge.finish();
  return judge.refusal()
             ? std::string(nameOf(judge.refusal()->fault)) + ": " + judge.refusal()->sentence
             : "fine";
}

void expectFine(Dialect dialect, std::initializer_list<const char*> bodies) {
  for (const char* body : bodies) EXPECT_EQ(judged(dialect, body), "fine") << body;
}

/// Refused, and for this reason alone.
void expectFetch(Dialect dialect, std::initializer_list<const char*> bodies) {
  for (const char* body : bodies) {
    EXPECT_TRUE(judged(dialect, body).starts_with("provider_fetch: ")) << body;
    EXPECT_EQ(judged(dialect, body, true), "fine") << body;
  }
}

TEST(ProviderFetch, AnthropicsToolsThatRunAtTheProvider) {
  expectFetch(Dialect::Anthropic,
              {
                  R"({"tools":[{"type":"web_search_20250305","name":"web_search"}]})",
                  R"({"tools":[{"name":"web_fetch","type":"web_fetch_20250910"}]})",
                  R"({"tools":[{"type":"code_execution_20250825","name":"code_execution"}]})",
                  R"({"tools":[{"type":"mcp_toolset","mcp_server_name":"x"}]})",
                  R"({"tools":[{"type":"WEB_SEARCH_20250305"}]})",
                  R"({"tools":[{"type":"something_new_20991231"}]})",
                  R"({"tools":[{"type":"web_s\u0065arch_20250305"}]})",
                  R"({"tools":[{"t\u0079pe":"web_search_20250305"}]})",
                  R"({"Tools":[{"TYPE":"web_search_20250305"}]})",
                  R"({"toolſ":[{"type":"web_search_20250305"}]})",
                  R"({"tools":[[{"type":"web_search_20250305"}]]})",
                  R"({"tools":{"type":"web_search_20250305"}})",
                  R"({"tools":[{"name":"a"},{"name":"b","type":"web_search_20250305"}]})",
                  R"({"tools":[{"type":1}]})",
                  R"({"tools":[{"type":["custom"]}]})",
                  R"({"tools":[{"type":{"a":"custom"}}]})",
                  R"({"tools":["web_search_20250305"]})",
                  R"({"tools":"web_search_20250305"})",
              });
}

TEST(ProviderFetch, AnthropicsServersAndContainers) {
  expectFetch(Dialect::Anthropic,
              {
                  R"({"mcp_servers":[{"type":"url","url":"https://evil.example/mcp"}]})",
                  R"({"mcp_servers":{"type":"url"}})",
                  R"({"mcp_servers":"https://evil.example"})",
                  R"({"mcp\u005fservers":[[{}]]})",
                  R"({"mcp_servers":true})",
                  R"({"container":"container_01"})",
                  R"({"container":{"skills":[{"type":"anthropic"}]}})",
              });
  expectFine(Dialect::Anthropic, {R"({"mcp_servers":[],"container":null})"});
}

TEST(ProviderFetch, AnthropicsSourcesByUrl) {
  expectFetch(
      Dialect::Anthropic,
      {
          R"({"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"https://evil.example/a"}}]}]})",
          R"({"messages":[{"content":[{"source":{"url":"http://evil.example"},"type":"document"}]}]})",
          R"({"messages":[{"content":[{"type":"tool_result","content":[{"type":"image","source":{"type":"url"}}]}]}]})",
          R"({"messages":[{"content":[{"type":"document","source":{"type":"content","content":[{"type":"image","source":{"type":"url","url":"x"}}]}}]}]})",
          R"({"messages":[{"content":{"type":"image","source":{"type":"url","url":"x"}}}]})",
          R"({"messages":[{"content":[{"type":"image","source":{"type":"base64","data":"","url":"ftp://evil.example"}}]}]})",
          R"({"messages":[{"content":[{"type":"image","source":{"type":"URL"}}]}]})",
          R"({"messages":[{"content":[{"type":"image","source":{"type":"gcs"}}]}]})",
          R"({"messages":[{"content":[{"type":"image","source":{"type":7}}]}]})",
          R"({"system":[{"type":"document","source":{"type":"url","url":"x"}}]})",
          R"({"messages":[{"content":[{"type":"web_fetch_tool_result","content":{"type":"web_fetch_result","content":{"type":"document","source":{"type":"url"}}}}]}]})",
      });
  expectFine(
      Dialect::Anthropic,
      {
          R"({"messages":[{"content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}]}]})",
          R"({"messages":[{"content":[{"type":"document","source":{"type":"text","data":"https://x.example"}}]}]})",
          R"({"messages":[{"content":[{"type":"document","source":{"type":"file","file_id":"file_1"}}]}]})",
          R"({"messages":[{"content":[{"type":"search_result","source":"https://docs.example","title":"t","content":[{"type":"text","text":"t"}]}]}]})",
      });
}

/// The words alone mean nothing: agents work on programs that use these very APIs.
TEST(ProviderFetch, WordsInTextsAndInputsAreInert) {
  expectFine(
      Dialect::Anthropic,
      {
          R"({"messages":[{"role":"user","content":"{\"mcp_servers\":[{\"url\":\"https://x\"}],\"type\":\"web_search_20250305\"}"}]})",
          R"({"messages":[{"content":[{"type":"text","text":"\"source\":{\"type\":\"url\"}"}]}]})",
          R"({"messages":[{"content":[{"type":"tool_use","id":"t","name":"Edit","input":{"tools":[{"type":"web_search_20250305"}],"source":{"type":"url","url":"https://x"},"mcp_servers":[{}],"content":[{"source":{"type":"url"}}]}}]}]})",
          R"({"messages":[{"content":[{"type":"server_tool_use","name":"web_search","input":{"query":"x"}},{"type":"web_search_tool_result","content":[{"type":"web_search_result","url":"https://x","title":"t"}]}]}]})",
          R"({"tools":[{"name":"fetch","description":"type: web_fetch_20250910","input_schema":{"type":"object","properties":{"url":{"type":"string"},"type":{"type":"string","enum":["web_search_20250305"]},"source":{"type":"object"}}}}]})",
          R"({"metadata":{"user_id":"{\"container\":\"x\"}","container":"c","tools":[{"type":"web_search_1"}]}})",
          R"({"tool_choice":{"type":"tool","name":"web_search"}})",
      });
}

TEST(ProviderFetch, OpenaiResponses) {
  expectFetch(
      Dialect::OpenaiResponses,
      {
          R"({"tools":[{"type":"web_search"}]})",
          R"({"tools":[{"type":"web_search","external_web_access":true}]})",
          R"({"tools":[{"type":"web_search","external_web_access":"false"}]})",
          R"({"tools":[{"type":"web_search","external_web_access":[false]}]})",
          R"({"tools":[{"type":"web_search","x":{"external_web_access":false}}]})",
          R"({"tools":[{"external_web_access":false},{"type":"web_search"}]})",
          R"({"tools":[{"type":"web_search_preview","external_web_access":false}]})",
          R"({"tools":[{"type":"file_search"}]})",
          R"({"tools":[{"type":"code_interpreter","container":{"type":"auto"}}]})",
          R"({"tools":[{"type":"computer_use_preview"}]})",
          R"({"tools":[{"type":"image_generation"}]})",
          R"({"tools":[{"type":"mcp","server_label":"x","server_url":"https://evil.example"}]})",
          R"({"tools":[{"type":"function","server_url":"https://evil.example"}]})",
          R"({"tools":[{"type":"function","connector_id":"connector_dropbox"}]})",
          R"({"tools":[{"type":"namespace","tools":[{"type":"mcp"}]}]})",
          R"({"tools":[{"type":"shell","environment":{"type":"container_auto"}}]})",
          R"({"tools":[{"environment":{"container_id":"c"},"type":"shell"}]})",
          R"({"tools":[{"environment":"container_auto","type":"shell"}]})",
          R"({"tools":[{"environment":[{"type":"local"}],"type":"shell"}]})",
          R"({"input":[{"type":"additional_tools","tools":[{"type":"mcp"}]}]})",
          R"({"input":[{"role":"user","content":[{"type":"input_image","image_url":"https://evil.example/a"}]}]})",
          R"({"input":[{"content":[{"type":"input_image","image_url":"HTTP://evil.example/a"}]}]})",
          R"({"input":[{"content":[{"type":"input_image","image_url":" data:x"}]}]})",
          R"({"input":[{"content":[{"type":"input_file","file_url":"https://evil.example/a.pdf"}]}]})",
          R"({"input":[{"type":"function_call_output","output":[{"type":"input_image","image_url":"gs://x"}]}]})",
          R"({"input":[{"type":"computer_call_output","output":{"image_url":"https://x"}}]})",
          R"({"prompt":{"id":"pmpt_1"}})",
          R"({"web_search_options":{}})",
          R"({"plugins":[{"id":"web"}]})",
      });
  expectFine(
      Dialect::OpenaiResponses,
      {
          R"({"tools":[{"type":"web_search","external_web_access":false}]})",
          R"({"tools":[{"external_web_access":false,"type":"web_search"}]})",
          R"({"tools":[{"type":"shell"},{"type":"shell","environment":{"type":"local"}},{"type":"local_shell"}]})",
          R"({"input":[{"content":[{"type":"input_image","image_url":"data:image/png;base64,aGk="}]}]})",
          R"({"input":[{"content":[{"type":"input_file","file_data":"data:x","file_id":"file-1","file_url":null}]}]})",
          R"({"input":"see https://x.example","previous_response_id":"resp_1","background":true})",
          R"({"input":[{"type":"web_search_call","action":{"type":"open_page","url":"https://x"}}]})",
          R"({"input":[{"type":"function_call_output","output":"{\"image_url\":\"https://x\"}"}]})",
      });
}

TEST(ProviderFetch, OpenaiChat) {
  expectFetch(
      Dialect::OpenaiChat,
      {
          R"({"web_search_options":{}})",
          R"({"search_parameters":{"mode":"on"}})",
          R"({"enable_search":true})",
          R"({"tools":[{"type":"web_search"}]})",
          R"({"tools":[{"type":"builtin_function","function":{"name":"$web_search"}}]})",
          R"({"messages":[{"content":[{"type":"image_url","image_url":{"url":"https://evil.example/a"}}]}]})",
          R"({"messages":[{"content":[{"type":"image_url","image_url":"https://evil.example/a"}]}]})",
          R"({"messages":[{"content":[{"image_url":{"detail":"low","url":"file:///etc/passwd"}}]}]})",
          R"({"messages":[{"content":[{"type":"file","file":{"file_url":"https://x"}}]}]})",
          R"({"messages":[{"role":"tool","content":[{"video_url":{"url":"https://x"}}]}]})",
      });
  expectFine(
      Dialect::OpenaiChat,
      {
          R"({"enable_search":false,"web_search_options":null})",
          R"({"messages":[{"content":[{"type":"image_url","image_url":{"url":"DATA:image/png;base64,aGk="}}]}]})",
          R"({"messages":[{"content":[{"type":"file","file":{"file_id":"f","file_data":"data:x"}}]}]})",
          R"({"messages":[{"role":"assistant","tool_calls":[{"function":{"arguments":"{\"image_url\":\"https://x\"}"}}]}]})",
      });
}

TEST(ProviderFetch, Gemini) {
  expectFetch(
      Dialect::Gemini,
      {
          R"({"tools":[{"googleSearch":{}}]})",
          R"({"tools":[{"google_search":{}}]})",
          R"({"tools":[{"functionDeclarations":[],"urlContext":{}}]})",
          R"({"tools":[{"url_context":{}}]})",
          R"({"tools":[{"codeExecution":{}}]})",
          R"({"tools":[{"code_execution":{}}]})",
          R"({"tools":{"googleSearchRetrieval":{}}})",
          R"({"tools":[{"somethingNew":[{}]}]})",
          R"({"tools":["googleSearch"]})",
          R"({"contents":[{"parts":[{"fileData":{"fileUri":"https://evil.example/a"}}]}]})",
          R"({"contents":[{"parts":[{"file_data":{"file_uri":"gs://evil/a"}}]}]})",
          R"({"contents":{"parts":{"fileData":{"fileUri":"x"}}}})",
          R"({"contents":[{"parts":[{"functionResponse":{"parts":[{"fileData":{"fileUri":"x"}}]}}]}]})",
          R"({"systemInstruction":{"parts":[{"fileData":{"fileUri":"x"}}]}})",
          R"({"system_instruction":{"parts":[{"fileData":{"fileUri":"x"}}]}})",
          R"({"generateContentRequest":{"tools":[{"googleSearch":{}}]}})",
      });
  expectFine(
      Dialect::Gemini,
      {
          R"({"tools":[{"functionDeclarations":[{"name":"googleSearch","parametersJsonSchema":{}}]}]})",
          R"({"tools":[{"function_declarations":[]},{"googleSearch":null}]})",
          R"({"contents":[{"role":"user","parts":[{"text":"urlContext https://x"},{"inlineData":{"mimeType":"image/png","data":"aGk="}}]}]})",
          R"({"contents":[{"parts":[{"functionCall":{"name":"f","args":{"fileData":{"fileUri":"x"}}}},{"functionResponse":{"name":"f","response":{"fileData":{"fileUri":"x"}}}}]}]})",
      });
}

TEST(ProviderFetch, Bedrock) {
  expectFetch(
      Dialect::Bedrock,
      {
          R"({"anthropic_version":"bedrock-2023-05-31","tools":[{"type":"web_search_20250305"}]})",
          R"({"messages":[{"content":[{"image":{"format":"png","source":{"s3Location":{"uri":"s3://x"}}}}]}]})",
          R"({"messages":[{"content":[{"document":{"source":{"s3Location":{"uri":"s3://x"}}}}]}]})",
          R"({"messages":[{"content":[{"video":{"source":{"s3_location":{"uri":"s3://x"}}}}]}]})",
          R"({"messages":[{"content":[{"toolResult":{"content":[{"image":{"source":{"s3Location":{}}}}]}}]}]})",
          R"({"toolConfig":{"tools":[{"systemTool":{"name":"nova_grounding"}}]}})",
          R"({"additionalModelRequestFields":{"tools":[{"type":"web_fetch_20250910"}]}})",
          R"({"additionalModelRequestFields":{"mcp_servers":[{}]}})",
      });
  expectFine(
      Dialect::Bedrock,
      {
          R"({"messages":[{"role":"user","content":[{"text":"s3Location"},{"image":{"format":"png","source":{"bytes":"aGk="}}},{"cachePoint":{"type":"default"}}]}],"system":[{"text":"x"}],"toolConfig":{"tools":[{"toolSpec":{"name":"t","inputSchema":{"json":{"source":{"type":"url"}}}}},{"cachePoint":{"type":"default"}}]}})",
          R"({"messages":[{"content":[{"toolUse":{"toolUseId":"t","name":"n","input":{"source":{"s3Location":{}}}}},{"toolResult":{"content":[{"json":{"source":{"s3Location":{}}}}]}}]}]})",
      });
}

}  // namespace
}  // namespace warder::models
