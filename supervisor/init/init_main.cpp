#include <boost/asio/io_context.hpp>

#include "supervisor/base/log.h"
#include "supervisor/init/init_config.h"
#include "supervisor/init/supervisor.h"
#include "supervisor/watch/signals.h"

namespace warder::init {

namespace {
constexpr int kInternal = 16;
}

int initMain() {
  // main has done so already, in its first statement; here it stands where the rule is read.
  watch::blockAll();
  if (auto hard = base::hardenStage(); !hard) {
    base::log(base::Level::Error, hard.error().sentence());
    return kInternal;
  }
  auto config = base::readStageConfig();
  if (!config) {
    base::log(base::Level::Error, config.error().sentence());
    return kInternal;
  }
  try {
    boost::asio::io_context context(1);
    StageLink::Handlers handlers;
    handlers.message = [](const base::json::object&) {};
    handlers.closed = [] {};  // nobody looks any more; PDEATHSIG tells when `warder run` died
    StageLink viewer(context, base::UniqueFd(base::kControlFd), handlers);
    const auto offer = [&viewer](const base::json::object& message) { viewer.offer(message); };
    return Supervisor(context, initConfigFromJson(*config), offer).run();
  } catch (const std::exception& error) {
    base::log(base::Level::Error, std::string("init: ") + error.what());
    return kInternal;
  }
}

}  // namespace warder::init
