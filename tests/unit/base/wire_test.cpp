#include "supervisor/base/wire.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "supervisor/base/event.h"

namespace warder::base {
namespace {

/// A message whose JSON text has exactly this many bytes.
json::object messageOf(std::size_t bytes) {
  const std::size_t frame = json::serialize(json::object{{"t", ""}}).size();
  return {{"t", std::string(bytes - frame, 'x')}};
}

TEST(Wire, CarriesOneObjectAMessage) {
  auto pair = makeMessagePair();
  ASSERT_TRUE(sendMessage(pair->ours.get(), {{"a", 1}}));
  ASSERT_TRUE(sendMessage(pair->ours.get(), {{"b", "two"}}));
  EXPECT_EQ(receiveMessage(pair->theirs.get())->value().body, (json::object{{"a", 1}}));
  EXPECT_EQ(receiveMessage(pair->theirs.get())->value().body, (json::object{{"b", "two"}}));
}

TEST(Wire, TakesALongestMessageAndRefusesOneByteMore) {
  auto pair = makeMessagePair();
  ASSERT_TRUE(sendMessage(pair->ours.get(), messageOf(kMaxMessage)));
  auto received = receiveMessage(pair->theirs.get());
  ASSERT_TRUE(received && *received);
  EXPECT_EQ((*received)->body, messageOf(kMaxMessage));
  const auto longer = sendMessage(pair->ours.get(), messageOf(kMaxMessage + 1));
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error().kind, Kind::Internal);
}

TEST(Wire, RefusesAMessageThatAPeerMadeTooLong) {
  auto pair = makeMessagePair();
  const std::string text = json::serialize(messageOf(kMaxMessage + 1));
  ASSERT_EQ(::write(pair->ours.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  const auto received = receiveMessage(pair->theirs.get());
  ASSERT_FALSE(received);
  EXPECT_EQ(received.error().kind, Kind::Peer);
}

TEST(Wire, CarriesAsManyDescriptorsAsItPromisesAndNoMore) {
  auto pair = makeMessagePair();
  std::vector<UniqueFd> kept;
  std::vector<int> numbers;
  for (std::size_t i = 0; i <= kMaxMessageFds; ++i) {
    kept.push_back(std::move(*openFile("/dev/null", O_RDONLY)));
    numbers.push_back(kept.back().get());
  }
  const std::span<const int> all(numbers);
  ASSERT_TRUE(sendMessage(pair->ours.get(), {{"fds", true}}, all.first(kMaxMessageFds)));
  auto received = receiveMessage(pair->theirs.get());
  ASSERT_TRUE(received && *received);
  ASSERT_EQ((*received)->fds.size(), kMaxMessageFds);
  for (const UniqueFd& fd : (*received)->fds)
    EXPECT_TRUE((::fcntl(fd.get(), F_GETFD) & FD_CLOEXEC) != 0);
  EXPECT_FALSE(sendMessage(pair->ours.get(), {{"fds", true}}, all));
}

TEST(Wire, TellsAGonePeerFromAnError) {
  auto pair = makeMessagePair();
  pair->ours.reset();
  auto received = receiveMessage(pair->theirs.get());
  ASSERT_TRUE(received);
  EXPECT_FALSE(*received);
  EXPECT_FALSE(sendMessage(pair->theirs.get(), {})) << "and no SIGPIPE";
}

TEST(Wire, SaysEagainOnANonBlockingSocketWithNothingThere) {
  auto pair = makeMessagePair();
  ASSERT_TRUE(setNonBlocking(pair->theirs.get(), true));
  const auto received = receiveMessage(pair->theirs.get());
  ASSERT_FALSE(received);
  EXPECT_EQ(received.error().system_errno, EAGAIN);
}

TEST(Wire, RefusesWhatIsNoObject) {
  for (const std::string_view text : {"[1]", "7", "{", "{} {}", "\xff"}) {
    auto pair = makeMessagePair();
    ASSERT_GT(::write(pair->ours.get(), text.data(), text.size()), 0);
    EXPECT_FALSE(receiveMessage(pair->theirs.get())) << text;
  }
}

TEST(ParseJson, AllowsDepthSixtyFourAndNotOneMore) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(parseJson(nested(64)));
  EXPECT_FALSE(parseJson(nested(65)));
  EXPECT_FALSE(parseJson(nested(100'000)));
}

TEST(Event, SurvivesTheWayThroughAMessage) {
  Event event;
  event.type = "llm.call";
  event.data = {{"status", 200}};
  event.durability = Durability::Outcome;
  const Event copy = eventFromMessage(toMessage(event));
  EXPECT_EQ(copy.type, event.type);
  EXPECT_EQ(copy.data, event.data);
  EXPECT_EQ(copy.durability, event.durability);
  EXPECT_EQ(copy.time, event.time);
}

TEST(Event, IsNotMadeFromAMessageThatIsNone) {
  EXPECT_ANY_THROW(eventFromMessage({}));
  EXPECT_ANY_THROW(eventFromMessage({{"type", 1}}));
}

TEST(Timestamp, HasNanosecondsAndComesBackUnchanged) {
  const auto time =
      std::chrono::system_clock::time_point(std::chrono::nanoseconds(1'796'004'793'123'456'789));
  EXPECT_EQ(timestamp(time), "2026-11-30T02:13:13.123456789Z");
  EXPECT_EQ(parseTimestamp(timestamp(time)), time);
  EXPECT_EQ(timestamp({}), "1970-01-01T00:00:00.000000000Z");
}

TEST(Timestamp, ReadsFractionsOfAnyLengthAndNone) {
  const auto whole = parseTimestamp("2026-11-30T02:13:13Z");
  EXPECT_EQ(parseTimestamp("2026-11-30T02:13:13.5Z"), whole + std::chrono::milliseconds(500));
  EXPECT_EQ(parseTimestamp("2026-11-30T02:13:13.000000001Z"), whole + std::chrono::nanoseconds(1));
  EXPECT_EQ(parseTimestamp("not a time"), std::chrono::system_clock::time_point());
}

}  // namespace
}  // namespace warder::base
