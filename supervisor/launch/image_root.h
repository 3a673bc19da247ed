// Shows an unpacked image as the box's root, without a byte written into it.
#pragma once
#include <string>
#include <vector>

#include "supervisor/base/result.h"

namespace warder::launch {

struct ImageRoot {
  std::string image;              // the unpacked image: a folder of this machine
  std::string mount_point;        // the box's root, a tmpfs already
  std::vector<std::string> ours;  // places of the box that the image does not get
};

/// Folders and files of the image become read-only binds at the same place, links are made again
/// (so that they are read inside of the box). A folder with one of `ours` below it is made anew,
/// and its entries are shown one by one; where the image has a link there, nothing of it is shown.
/// Sockets, pipes and devices are left out. Nothing is followed out of the image: each entry is
/// opened below its folder, without links. Errors name the entry.
base::Status showImage(const ImageRoot& root);

}  // namespace warder::launch
