// A run's folder in a temporary place, as `warder run` makes it, and what tests do with it.
#pragma once
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace warder::support {

inline std::string readText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

inline void writeText(const std::string& path, std::string_view text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

/// A folder that goes away with its owner.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    char name[] = "/tmp/warder-test-XXXXXX";
    if (::mkdtemp(name) == nullptr) throw std::runtime_error("mkdtemp failed");
    path = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string path;
};

/// SPOOL/RUN_ID with run.json.
class RunFolder {
 public:
  explicit RunFolder(std::string id = "3f1c2a54-0000-4000-8000-000000000001", int attempt = 1)
      : run_id(std::move(id)), path(spool_.path + "/" + run_id) {
    writeText(path + "/run.json", boost::json::serialize(boost::json::object{
                                      {"run_id", run_id}, {"attempt", attempt}}));
  }
  std::string run_id;

 private:
  TemporaryFolder spool_;

 public:
  std::string path;
};

}  // namespace warder::support
