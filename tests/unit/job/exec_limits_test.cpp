// What execve(2) would cut or refuse is refused when the job is read.
#include <gmock/gmock.h>

#include "supervisor/job/job_reader.h"

namespace warder::job {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string faultsOf(const std::string& text, const Overrides& overrides = {}) {
  const JobReading reading =
      readJobText({text, "/jobs/job.yaml", overrides, [](const std::string& path) {
                     return base::Result<std::string>(
                         base::Error{base::Kind::NotFound, "cannot open " + path, ENOENT});
                   }});
  std::string all;
  for (const auto& fault : reading.faults) all += base::render(fault) + "\n";
  return all;
}

/// A sound job with more lines at its end.
std::string sound(const std::string& more = "", const std::string& agent = "") {
  return "version: 1\nagent:\n  command: [\"true\"]\n  workspace: repo\n" + agent + more;
}

TEST(ExecLimits, ANulByteIsRefusedWhereverTextStands) {
  for (const std::string& text :
       {sound("", "  env: {A: \"x\\0y\"}\n"), sound("", "  prompt: \"x\\0y\"\n"),
        sound("", "  read_only: [\"/a\\0b\"]\n"), sound("results: {artifacts: [\"a\\0b\"]}\n"),
        sound("results: {dir: \"a\\0b\"}\n"),
        std::string("version: 1\nagent: {workspace: ., command: [\"/bin/true\\0x\"]}\n")}) {
    EXPECT_THAT(faultsOf(text), HasSubstr("holds a NUL byte")) << text;
  }
}

TEST(ExecLimits, PromptAsArgumentIsBoundedByTheKernelsLimit) {
  const auto job = [](std::size_t length) {
    const std::string text = "version: 1\nagent: {preset: ./p.yaml, workspace: ., prompt: \"" +
                             std::string(length, 'x') + "\"}\n";
    return readJobText({text, "/j.yaml", {}, [](const std::string&) {
                          return base::Result<std::string>(
                              "version: 1\nname: m\nexecutable: [m]\nprompt: argument\n");
                        }});
  };
  EXPECT_THAT(job(131071).faults, IsEmpty());
  EXPECT_EQ(job(131072).faults.size(), 1U);
}

// Source of the limits: execve(2), MAX_ARG_STRLEN and the sum of all.
TEST(ExecLimits, OneArgumentAndOneVariableAreBoundedByTheKernelsLimit) {
  const auto command = [](std::size_t length) {
    return faultsOf("version: 1\nagent:\n  workspace: .\n  command: [x, \"" +
                    std::string(length, 'x') + "\"]\n");
  };
  EXPECT_EQ(command(131071), "");
  EXPECT_THAT(command(131072),
              HasSubstr("job.yaml:4:12: agent.command: word 2 is longer than 131071 bytes"));
  const auto variable = [](std::size_t length) {
    return faultsOf(sound("", "  env:\n    AB: \"" + std::string(length, 'x') + "\"\n"));
  };
  EXPECT_EQ(variable(131068), "");
  EXPECT_THAT(variable(131069),
              HasSubstr("job.yaml:6:5: agent.env.AB is longer than 131071 bytes"));
  Overrides overrides;
  overrides.command = {"x", std::string(131071, 'x')};
  EXPECT_EQ(faultsOf(sound(), overrides), "");
  overrides.command[1] += 'x';
  EXPECT_THAT(faultsOf(sound(), overrides), HasSubstr("the command after --: word 2 is longer"));
}

TEST(ExecLimits, AllArgumentsAndVariablesTogetherAreBounded) {
  // Each word costs its bytes, a NUL and a pointer: 8 words of 131063 and 9 are 1 MiB less 64.
  const auto job = [](std::size_t rest) {
    std::string text = "version: 1\nagent:\n  workspace: .\n  command: [x, &w \"" +
                       std::string(131063, 'x') + "\", *w, *w, *w, *w, *w]\n  env: {A: *w, B: \"" +
                       std::string(rest, 'x') + "\"}\n";
    return faultsOf(text);
  };
  const std::size_t spent = 10 + 9 + 6 * 131072 + 131074 + 11;  // x, no prompt, words, A=, B=
  EXPECT_EQ(job(1048576 - spent), "");
  EXPECT_THAT(job(1048576 - spent + 1), HasSubstr("agent.command and agent.env are together longer "
                                                  "than 1 MiB"));
}

}  // namespace
}  // namespace warder::job
