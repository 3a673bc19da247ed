#include "supervisor/job/helper_program.h"

#include <sys/stat.h>
#include <unistd.h>

#include <sstream>

#include "supervisor/job/job_spec.h"

namespace warder::job {

using base::Error;
using base::Kind;

namespace {

bool isProgram(const std::string& path) {
  struct stat file {};
  return ::stat(path.c_str(), &file) == 0 && S_ISREG(file.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

base::Result<std::string> findHelper(const std::string& program) {
  if (program.find('/') != std::string::npos) {
    if (isProgram(program)) return program;
    return Error{Kind::Config, program + " is no program that can be executed"};
  }
  std::istringstream folders(kHelperPath);
  for (std::string folder; std::getline(folders, folder, ':');)
    if (isProgram(folder + "/" + program)) return folder + "/" + program;
  return Error{Kind::NotFound, "there is no program " + program + " in " + kHelperPath};
}

}  // namespace warder::job
