#include "supervisor/base/result.h"

#include <gtest/gtest.h>

namespace warder::base {
namespace {

TEST(Error, SaysWhatWasBeingDoneAndTheKernelsReason) {
  EXPECT_EQ(kernelError("cannot open /x", EACCES).sentence(), "cannot open /x: Permission denied");
  EXPECT_EQ((Error{Kind::Config, "the job has no agent"}).sentence(), "the job has no agent");
}

TEST(Error, GainsContextOnTheWayUpAndKeepsItsKind) {
  const Error error = kernelError("cannot open /x", ENOENT).during("reading the job");
  EXPECT_EQ(error.kind, Kind::NotFound);
  EXPECT_EQ(error.sentence(), "reading the job: cannot open /x: No such file or directory");
}

TEST(Result, ThrowsTheSentenceWhenItsValueIsTakenByMistake) {
  const Result<int> failed = Error{Kind::Config, "no value"};
  EXPECT_THROW(failed.value(), std::runtime_error);
}

TEST(Kind, HasAName) {
  EXPECT_EQ(nameOf(Kind::Config), "config");
  EXPECT_EQ(nameOf(Kind::Internal), "internal");
}

}  // namespace
}  // namespace warder::base
