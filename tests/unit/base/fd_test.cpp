#include "supervisor/base/fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

namespace warder::base {
namespace {

bool isOpen(int fd) {
  return ::fcntl(fd, F_GETFD) >= 0;
}
bool closesOnExec(int fd) {
  return (::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0;
}

UniqueFd someFd() {
  return std::move(makePipe()->read);
}

TEST(UniqueFd, ClosesWhatItOwnsOnce) {
  int number;
  {
    const UniqueFd fd = someFd();
    number = fd.get();
    EXPECT_TRUE(isOpen(number));
  }
  EXPECT_FALSE(isOpen(number));
}

TEST(UniqueFd, ClosesTheOldDescriptorWhenAnotherMovesIn) {
  UniqueFd first = someFd();
  UniqueFd second = someFd();
  const int old = first.get();
  const int kept = second.get();
  first = std::move(second);
  EXPECT_FALSE(isOpen(old));
  EXPECT_TRUE(isOpen(kept));
  EXPECT_EQ(first.get(), kept);
}

TEST(UniqueFd, SurvivesAMoveToItself) {
  UniqueFd fd = someFd();
  const int number = fd.get();
  UniqueFd& same = fd;
  fd = std::move(same);
  EXPECT_EQ(fd.get(), number);
  EXPECT_TRUE(isOpen(number));
}

TEST(UniqueFd, GivesUpOwnershipOnRelease) {
  UniqueFd fd = someFd();
  const int number = fd.release();
  EXPECT_FALSE(fd);
  fd.reset();
  EXPECT_TRUE(isOpen(number));
  ::close(number);
}

TEST(Descriptors, AreAllMadeCloseOnExec) {
  auto pipe = makePipe();
  auto pair = makeMessagePair();
  auto file = openFile("/dev/null", O_RDONLY);
  auto text = sealedText("test", "text");
  auto copy = duplicate(pipe->read.get());
  for (const int fd : {pipe->read.get(), pipe->write.get(), pair->ours.get(), pair->theirs.get(),
                       file->get(), text->get(), copy->get()})
    EXPECT_TRUE(closesOnExec(fd)) << fd;
}

TEST(OpenFile, NamesThePathAndTellsAbsenceFromRefusal) {
  const auto missing = openFile("/nonexistent/file", O_RDONLY);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, Kind::NotFound);
  EXPECT_NE(missing.error().sentence().find("/nonexistent/file"), std::string::npos);
  const auto folder = openFile("/", O_WRONLY);
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().kind, Kind::Kernel);
}

TEST(SealedText, ReadsFromItsStartAndCannotBeChanged) {
  auto fd = sealedText("test", "a plan");
  ASSERT_TRUE(fd);
  EXPECT_EQ(*readAll(fd->get(), 100), "a plan");
  EXPECT_LT(::pwrite(fd->get(), "x", 1, 0), 0);
  EXPECT_NE(::ftruncate(fd->get(), 0), 0);
}

TEST(ReadAll, TakesExactlyTheLimitAndNotAByteMore) {
  EXPECT_EQ(readAll(sealedText("test", "12345")->get(), 5)->size(), 5u);
  const auto longer = readAll(sealedText("test", "123456")->get(), 5);
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error().kind, Kind::Config);
}

TEST(SetNonBlocking, TurnsTheFlagOnAndOff) {
  auto pipe = makePipe();
  const int fd = pipe->read.get();
  ASSERT_TRUE(setNonBlocking(fd, true));
  EXPECT_TRUE((::fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
  ASSERT_TRUE(setNonBlocking(fd, false));
  EXPECT_TRUE((::fcntl(fd, F_GETFL) & O_NONBLOCK) == 0);
}

}  // namespace
}  // namespace warder::base
