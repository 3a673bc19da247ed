// Real pipes whose readers are slow or gone.
#include "supervisor/cli/screen_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <thread>

#include "supervisor/base/fd.h"

namespace warder::cli {
namespace {

class Writer : public ::testing::Test {
 protected:
  void SetUp() override {
    ::signal(SIGPIPE, SIG_IGN);
    pipe_ = std::move(*base::makePipe());
  }
  std::string readAll() {
    std::string text;
    char buffer[65536];
    for (ssize_t count; (count = ::read(pipe_.read.get(), buffer, sizeof buffer)) > 0;)
      text.append(buffer, static_cast<std::size_t>(count));
    return text;
  }
  base::Pipe pipe_;
};

TEST_F(Writer, NeverWaitsForAReaderThatDoesNotRead) {
  ScreenWriter writer(pipe_.write.get());
  writer.add(std::string(1 << 20, 'x'));
  writer.flush();  // would never return
  EXPECT_FALSE(writer.idle());
  EXPECT_GE(writer.waiting(), (1U << 20) - 65536U);
  EXPECT_FALSE(writer.closed());
}

TEST_F(Writer, LeavesTheFlagsOfTheDescriptorAlone) {
  const int before = ::fcntl(pipe_.write.get(), F_GETFL);
  ScreenWriter writer(pipe_.write.get());
  writer.add("x");
  writer.flush();
  EXPECT_EQ(::fcntl(pipe_.write.get(), F_GETFL), before);
  EXPECT_EQ(before & O_NONBLOCK, 0);
}

TEST_F(Writer, WritesEverythingInOrderToASlowReader) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += std::to_string(i) + "\n";
  std::string read;
  std::thread reader([&] { read = readAll(); });
  ScreenWriter writer(pipe_.write.get());
  writer.add(text);
  writer.drain(-1);
  EXPECT_TRUE(writer.idle());
  pipe_.write.reset();
  reader.join();
  EXPECT_EQ(read, text);
}

TEST_F(Writer, AReaderThatIsGoneTakesEverything) {
  ScreenWriter writer(pipe_.write.get());
  pipe_.read.reset();
  writer.add("x");
  writer.drain(-1);
  EXPECT_TRUE(writer.closed());
  EXPECT_TRUE(writer.idle());
  writer.add("y");
  writer.flush();
  EXPECT_TRUE(writer.idle());
}

TEST_F(Writer, SomebodyWhoDoesNotWantToWaitEndsTheWait) {
  auto interrupt = base::makePipe();
  ASSERT_TRUE(base::writeAll(interrupt->write.get(), "!"));
  ScreenWriter writer(pipe_.write.get());
  writer.add(std::string(1 << 20, 'x'));
  writer.drain(interrupt->read.get());
  EXPECT_FALSE(writer.idle());
}

}  // namespace
}  // namespace warder::cli
