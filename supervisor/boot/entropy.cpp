#include "supervisor/boot/entropy.h"

#include <fcntl.h>
#include <linux/random.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <unistd.h>

#include "supervisor/base/fd.h"

namespace warder::boot {

using base::Error;
using base::kernelError;
using base::Kind;
using base::Status;

Status creditSeed(const std::string& file) {
  auto seed = base::readFile(file, kLongestSeed);
  if (!seed) return seed.error().during("warder.seed_file");
  if (seed->size() < kShortestSeed)
    return Error{Kind::Config, "warder.seed_file: " + file + " has " +
                                   std::to_string(seed->size()) + " bytes; a seed has 32 to 512"};
  auto pool = base::openFile("/dev/random", O_WRONLY);
  if (!pool) return pool.error();
  // struct rand_pool_info: bits of credit, bytes of seed, the seed.
  const int head[] = {static_cast<int>(seed->size() * 8), static_cast<int>(seed->size())};
  static_assert(sizeof head == sizeof(rand_pool_info));
  std::string bytes(reinterpret_cast<const char*>(head), sizeof head);
  bytes += *seed;
  if (::ioctl(pool->get(), RNDADDENTROPY, bytes.data()) != 0)
    return kernelError("warder.seed_file: the kernel does not take the seed");
  ::unlink(file.c_str());
  return {};
}

void checkEntropy(std::vector<std::string>& warnings) {
  char byte = 0;
  if (::getrandom(&byte, 1, GRND_NONBLOCK) == 1) return;
  warnings.push_back(
      "entropy: the kernel's random numbers are not ready, so whatever makes a key waits for them; "
      "give the machine a virtio-rng device, or set warder.seed_file");
}

}  // namespace warder::boot
