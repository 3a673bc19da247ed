#include "supervisor/init/init_config.h"

#include <gtest/gtest.h>

namespace warder::init {
namespace {

TEST(InitConfig, ReadsBackWhatItWrote) {
  InitConfig config;
  config.run_id = "r";
  config.run_dir = "/s/r";
  config.job_file = "/j.yaml";
  config.job_digest = "sha256:0";
  config.command = {"a", "b c"};
  config.rootfs = "/i";
  config.one_id = true;
  config.secret_fds = {5, 6};
  config.token_fds = {7};
  const InitConfig copy = initConfigFromJson(toJson(config));
  EXPECT_EQ(copy.run_dir, "/s/r");
  EXPECT_EQ(copy.command, config.command);
  EXPECT_EQ(copy.secret_fds, config.secret_fds);
  EXPECT_EQ(copy.token_fds, config.token_fds);
  EXPECT_EQ(copy.rootfs, "/i");
  EXPECT_TRUE(copy.one_id);
}

TEST(InitConfig, RefusesAnObjectThatIsNone) {
  EXPECT_ANY_THROW(initConfigFromJson({}));
}

}  // namespace
}  // namespace warder::init
