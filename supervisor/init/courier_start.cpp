#include "supervisor/init/courier_start.h"

#include <unistd.h>

#include "supervisor/init/lent_files.h"
#include "supervisor/launch/confine.h"

namespace warder::init {

namespace json = base::json;

base::Result<launch::StartedStage> startCourierStage(const CourierStart& order) {
  launch::StageStart start;
  start.stage = "courier";
  LentFiles files(start);
  json::array sinks;
  for (std::size_t i = 0; i < order.sinks.size(); ++i) {
    // A courier that was started again reads its token from the beginning.
    ::lseek(order.token_fds.at(i), 0, SEEK_SET);
    const int token = files.lend(order.token_fds[i]);
    auto ca_file = files.lendFile(order.sinks[i].ca_file);
    if (!ca_file) return ca_file.error();
    sinks.push_back(
        {{"collector", order.sinks[i].url}, {"token_fd", token}, {"ca_file", *ca_file}});
  }
  const int folder = files.lend(order.run_folder);
  start.config = {{"run_dir", pathByFd(folder)},
                  {"run_id", order.run_id},
                  {"attempt", order.attempt},
                  {"sinks", std::move(sinks)}};
  start.uid = serviceUid(order.one_id, launch::kCourierUid);
  start.gid = launch::kSpoolGid;
  return launch::startStage(start);
}

}  // namespace warder::init
