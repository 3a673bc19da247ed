// The control door with real sockets and real processes at the other end.
#include "supervisor/init/control_door.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "supervisor/init/run_status.h"

namespace warder::init {
namespace {

namespace fs = std::filesystem;
namespace json = base::json;
using base::UniqueFd;

class Control : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/control_XXXXXX";
    folder_ = ::mkdtemp(name);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void open(std::function<bool(const base::Peer&)> may = [](const base::Peer&) { return true; }) {
    ControlDoor::Handlers handlers;
    handlers.status = [] { return toJson(RunStatus()); };
    handlers.cancel = [this](const std::string& by) { cancelled_by_ = by; };
    handlers.may_control = std::move(may);
    auto door = ControlDoor::open(context_, folder_, std::move(handlers));
    ASSERT_TRUE(door) << door.error().sentence();
    door_ = std::move(*door);
  }

  UniqueFd connect() {
    auto made = base::connectLocally(folder_, kControlSocket, 10'000);
    EXPECT_TRUE(made) << made.error().sentence();
    return made ? std::move(*made) : UniqueFd();
  }

  /// Lets the door work until the client has something to read or was cut off.
  void serve(const UniqueFd& client) {
    for (int turn = 0; turn < 20'000; ++turn) {
      context_.poll();
      context_.restart();
      pollfd wait{client.get(), POLLIN, 0};
      if (::poll(&wait, 1, 1) == 1) return;
    }
    FAIL() << "the door did not answer";
  }

  /// The answer to one question; nullopt when the door cut the client off.
  std::optional<json::object> ask(const UniqueFd& client, const json::object& question) {
    if (!base::sendMessage(client.get(), question)) return std::nullopt;
    serve(client);
    auto answer = base::receiveMessage(client.get());
    if (!answer || !*answer) return std::nullopt;
    return (*answer)->body;
  }

  std::string folder_;
  boost::asio::io_context context_;
  std::unique_ptr<ControlDoor> door_;
  std::string cancelled_by_;
};

TEST_F(Control, TellsTheStatusAsOftenAsItIsAsked) {
  open();
  const UniqueFd client = connect();
  for (int times = 0; times < 3; ++times) {
    const auto answer = ask(client, {{"status", true}});
    ASSERT_TRUE(answer);
    EXPECT_TRUE(runStatusFromJson(answer->at("status").as_object()));
  }
}

TEST_F(Control, TheEndIsAskedForByName) {
  open();
  const UniqueFd client = connect();
  const auto answer = ask(client, {{"cancel", {{"by", "operator"}}}});
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->at("cancelling").as_bool());
  EXPECT_EQ(cancelled_by_, "operator");
}

TEST_F(Control, ANameIsKeptShortOnBothSidesOfItsLimit) {
  open();
  const UniqueFd client = connect();
  const std::string fits(kMaxCanceller, 'x');
  ask(client, {{"cancel", {{"by", fits}}}});
  EXPECT_EQ(cancelled_by_, fits);
  ask(client, {{"cancel", {{"by", fits + "y"}}}});
  EXPECT_EQ(cancelled_by_, fits);
  ask(client, {{"cancel", json::object()}});
  EXPECT_EQ(cancelled_by_, "somebody");
}

TEST_F(Control, OtherQuestionsAreRefusedWithASentence) {
  open();
  const UniqueFd client = connect();
  for (const json::object& question :
       {json::object(), json::object{{"status", 1}}, json::object{{"cancel", true}},
        json::object{{"raise", "everything"}}}) {
    const auto answer = ask(client, question);
    ASSERT_TRUE(answer) << json::serialize(question);
    EXPECT_TRUE(answer->contains("refused"));
  }
  EXPECT_EQ(cancelled_by_, "");
}

TEST_F(Control, RubbishIsCutOffAndTheDoorLivesOn) {
  open();
  for (const std::string& rubbish :
       {std::string("x"), std::string("{"), std::string("[1]"), std::string(100'000, '{'),
        std::string("{\"status\":true} {}"), std::string("\xff\xfe\0x", 4)}) {
    const UniqueFd client = connect();
    ASSERT_GT(::send(client.get(), rubbish.data(), rubbish.size(), MSG_NOSIGNAL), 0);
    serve(client);
    char byte;
    EXPECT_EQ(::recv(client.get(), &byte, 1, 0), 0) << rubbish.substr(0, 20);
  }
  EXPECT_TRUE(ask(connect(), {{"status", true}}));
}

TEST_F(Control, AClientThatDoesNotReadIsCutOff) {
  open();
  const UniqueFd silent = connect();
  int sent = 0;
  for (; sent < 100'000; ++sent) {
    if (!base::sendMessage(silent.get(), {{"status", true}})) break;
    context_.poll();
    context_.restart();
  }
  EXPECT_LT(sent, 100'000) << "answers were kept for a client that does not read";
  EXPECT_TRUE(ask(connect(), {{"status", true}}));
}

TEST_F(Control, OneClientMoreTakesThePlaceOfTheOldest) {
  open();
  std::vector<UniqueFd> clients;
  for (std::size_t i = 0; i < kMaxControlClients; ++i) {
    clients.push_back(connect());
    ASSERT_TRUE(ask(clients.back(), {{"status", true}}));
  }
  EXPECT_TRUE(ask(clients.front(), {{"status", true}}));
  clients.push_back(connect());
  EXPECT_TRUE(ask(clients.back(), {{"status", true}}));
  EXPECT_FALSE(ask(clients.front(), {{"status", true}}));
  EXPECT_TRUE(ask(clients[1], {{"status", true}}));
}

TEST_F(Control, TheSocketIsItsOwnersAloneAndGoesWithTheDoor) {
  open();
  struct stat file {};
  ASSERT_EQ(::lstat((folder_ + "/" + kControlSocket).c_str(), &file), 0);
  EXPECT_TRUE(S_ISSOCK(file.st_mode));
  EXPECT_EQ(file.st_mode & 0777, 0600U);
  const UniqueFd client = connect();
  ASSERT_TRUE(ask(client, {{"status", true}}));
  door_.reset();
  EXPECT_NE(::lstat((folder_ + "/" + kControlSocket).c_str(), &file), 0);
  context_.poll();  // callbacks that come late touch nothing
  EXPECT_EQ(base::connectLocally(folder_, kControlSocket, 1000).error().kind, base::Kind::NotFound);
}

TEST_F(Control, ADeadSocketIsReplacedAndSaysThatNobodyListens) {
  open();
  // As after a kill: the name stays, nobody listens.
  fs::rename(folder_ + "/" + kControlSocket, folder_ + "/kept");
  door_.reset();
  fs::rename(folder_ + "/kept", folder_ + "/" + kControlSocket);
  EXPECT_EQ(base::connectLocally(folder_, kControlSocket, 1000).error().kind, base::Kind::NotFound);
  open();
  EXPECT_TRUE(ask(connect(), {{"status", true}}));
}

TEST_F(Control, AFolderWithALongNameIsNoObstacle) {
  folder_ += "/" + std::string(200, 'x');
  fs::create_directory(folder_);
  open();
  EXPECT_TRUE(ask(connect(), {{"status", true}}));
}

TEST_F(Control, WhoMayNotAskIsCutOffWithoutAnAnswer) {
  open([](const base::Peer& peer) { return peer.pid != ::getpid(); });
  const UniqueFd client = connect();
  serve(client);
  char byte;
  EXPECT_LE(::recv(client.get(), &byte, 1, 0), 0);
}

/// A process between this one and the one that asks, so that it is no child of ours.
base::Peer peerFrom(const std::function<pid_t()>& start) {
  return {start(), ::geteuid(), ::getegid(), false};
}

TEST(MayControl, DescendantsMayNotHoweverDeepTheyAre) {
  int line[2];
  ASSERT_EQ(::pipe(line), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const pid_t grandchild = ::fork();
    if (grandchild == 0) {
      ::pause();
      ::_exit(0);
    }
    (void)!::write(line[1], &grandchild, sizeof grandchild);
    ::pause();
    ::_exit(0);
  }
  pid_t grandchild = -1;
  ASSERT_EQ(::read(line[0], &grandchild, sizeof grandchild), sizeof grandchild);
  EXPECT_FALSE(mayControl(peerFrom([&] { return child; })));
  EXPECT_FALSE(mayControl(peerFrom([&] { return grandchild; })));
  EXPECT_FALSE(mayControl(peerFrom([] { return ::getpid(); })));
  ::kill(grandchild, SIGKILL);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(line[0]);
  ::close(line[1]);
}

TEST(MayControl, OthersMayByTheirUser) {
  const pid_t parent = ::getppid();
  const uid_t self = ::geteuid();
  EXPECT_TRUE(mayControl({parent, self, 0, false}));
  EXPECT_TRUE(mayControl({parent, 0, 0, false}));
  EXPECT_TRUE(mayControl({0, self, 0, false})) << "outside of this pid namespace";
  EXPECT_FALSE(mayControl({parent, self + 1000, 0, false}));
  EXPECT_FALSE(mayControl({0, self + 1000, 0, false}));
  EXPECT_FALSE(mayControl({parent, 65534, 65534, false}));
  EXPECT_TRUE(mayControl({0, 65534, 65534, false})) << "root, seen from a user namespace";
}

TEST(MayControl, TheDeadMayNot) {
  EXPECT_FALSE(mayControl({::getppid(), ::geteuid(), 0, true}));
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(mayControl({child, ::geteuid(), 0, false}));
}

}  // namespace
}  // namespace warder::init
