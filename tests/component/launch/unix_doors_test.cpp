// Each try is made in a child process, which becomes the agent's user before it tries.
#include "supervisor/launch/unix_doors.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>

#include "supervisor/launch/confine.h"

namespace warder::launch {
namespace {

constexpr uid_t kAgent = 4242;

#define NEEDS_ROOT() \
  if (::getuid() != 0) GTEST_SKIP() << "needs root"

/// The number of the first try that failed, in a child process; 0 when all held.
int failedTry(const std::function<int()>& tries) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(tries());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 200;
}

template <class Call>
bool failsWith(int code, Call call) {
  errno = 0;
  return call() < 0 && errno == code;
}

bool connects(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  const base::UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

bool hasConnection(const base::UniqueFd& listener) {
  return bool(base::UniqueFd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)));
}

/// What an agent could do to a door that is not its own.
int tryToReplace(const std::string& path, int refusal) {
  const std::string folder = path.substr(0, path.rfind('/'));
  if (!failsWith(refusal, [&] { return ::unlink(path.c_str()); })) return 11;
  if (!failsWith(refusal, [&] { return ::rename(path.c_str(), (path + "x").c_str()); })) return 12;
  if (!failsWith(refusal, [&] { return ::open((path + "x").c_str(), O_CREAT | O_WRONLY, 0600); }))
    return 13;
  if (::chmod(path.c_str(), 0600) == 0 || ::chmod(folder.c_str(), 0777) == 0) return 14;
  if (::rename(folder.c_str(), (folder + "x").c_str()) == 0) return 15;
  return 0;
}

TEST(UnixDoors, AreShownInABoxWhereTheAgentConnectsAndReplacesNothing) {
  NEEDS_ROOT();
  char folder[] = "/tmp/warder-doors-test-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  ASSERT_EQ(::chmod(folder, 0755), 0);
  EXPECT_EQ(failedTry([&] {
              if (::unshare(CLONE_NEWNS) != 0) return 1;
              ::mount(nullptr, "/", nullptr, MS_PRIVATE | MS_REC, nullptr);
              auto doors = UnixDoors::make({"anthropic", "git"});
              if (!doors || doors->sockets().size() != 2) return 2;
              if (doors->pathOf("git") != std::string(kDoorFolder) + "/git.sock") return 3;
              if (!doors->pathOf("other").empty()) return 4;
              if (!doors->showAt(folder)) return 5;
              if (!becomeUser(kAgent, kAgent)) return 6;
              const std::string path = std::string(folder) + "/git.sock";
              if (!connects(path)) return 7;
              if (!hasConnection(doors->sockets()[1]) || hasConnection(doors->sockets()[0]))
                return 8;
              return tryToReplace(path, EROFS);
            }),
            0);
  ::rmdir(folder);
}

TEST(UnixDoors, RefuseWhenTheBrokerHasClosedThem) {
  NEEDS_ROOT();
  auto doors = UnixDoors::makeInPlace({"anthropic"}, "test-closed");
  ASSERT_TRUE(doors) << doors.error().sentence();
  EXPECT_TRUE(connects(doors->pathOf("anthropic")));
  doors->sockets().clear();
  EXPECT_FALSE(connects(doors->pathOf("anthropic")));
}

TEST(UnixDoors, OfTwoRunsInOnePlaceHaveFoldersOfTheirOwn) {
  NEEDS_ROOT();
  std::string first_path, second_path;
  {
    const auto first = UnixDoors::makeInPlace({"anthropic"}, "test-1");
    auto second = UnixDoors::makeInPlace({"anthropic"}, "test-2");
    ASSERT_TRUE(first && second);
    first_path = first->pathOf("anthropic");
    second_path = second->pathOf("anthropic");
    EXPECT_NE(first_path, second_path);
    EXPECT_EQ(second_path, "/run/warder-doors-test-2/anthropic.sock");
    EXPECT_EQ(failedTry([&] {
                if (!becomeUser(kAgent, kAgent)) return 1;
                if (!connects(second_path) || !hasConnection(second->sockets()[0])) return 2;
                return tryToReplace(second_path, EACCES);
              }),
              0);
  }
  for (const auto& path : {first_path, second_path})
    EXPECT_NE(::access(path.substr(0, path.rfind('/')).c_str(), F_OK), 0) << "left behind";
}

TEST(UnixDoors, AreNotMadeInAFolderThatSomebodyElsePutThere) {
  NEEDS_ROOT();
  ASSERT_EQ(::mkdir("/run/warder-doors-test-taken", 0777), 0);
  const auto holder = UnixDoors::makeInPlace({"holder"}, "test-holder");  // takes kDoorFolder
  const auto doors = UnixDoors::makeInPlace({"anthropic"}, "test-taken");
  ::rmdir("/run/warder-doors-test-taken");
  ASSERT_TRUE(holder && doors);
  EXPECT_EQ(doors->pathOf("anthropic"), "/tmp/warder-doors-test-taken/anthropic.sock");
}

TEST(UnixDoors, WithoutGrantsThereAreNone) {
  for (const auto& doors : {UnixDoors::make({}), UnixDoors::makeInPlace({}, "test")})
    EXPECT_TRUE(doors && doors->pathOf("").empty());
}

}  // namespace
}  // namespace warder::launch
