// The kernel command line and the list of modules.
#include <cstdint>
#include <string_view>

#include "supervisor/boot/module_list.h"
#include "supervisor/boot/name_files.h"
#include "supervisor/boot/settings.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace warder;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)boot::readSettings(text);
  (void)boot::readModuleList(text);
  (void)boot::moduleParameters("virtio_mmio.ko", text);
  (void)boot::hostsWith(text, "warder");
  return 0;
}
