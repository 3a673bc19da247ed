// What the agent's box shows, under which names, and where that lies on this machine.
#pragma once
#include <string>
#include <vector>

#include "supervisor/base/result.h"
#include "supervisor/job/job_spec.h"

namespace warder::job {

/// Places of the box that are the box's own, whatever an image has there. A folder on the way to
/// one of them is made by the box, with what the image has in it beside them; where the image has a
/// link on the way, the folder holds nothing of the image.
inline constexpr const char* kOwnPlaces[] = {"/dev",
                                             "/proc",
                                             "/sys",
                                             "/run",
                                             "/tmp",
                                             "/var/tmp",
                                             "/var/scratch",
                                             kHomeInBox,
                                             kWorkspaceInBox,
                                             "/etc/passwd",
                                             "/etc/group",
                                             "/etc/hosts",
                                             "/etc/hostname",
                                             "/etc/resolv.conf",
                                             "/etc/nsswitch.conf"};

/// Is `path` this folder or below it? By text.
bool isBelow(const std::string& path, const std::string& folder);

/// Three kinds of boxes: of this machine's programs (agent.root empty), of an unpacked image, and
/// in place ("/": everything of this machine under its own name). launch/box_root.h makes them.
class BoxView {
 public:
  explicit BoxView(const JobSpec& job);

  /// One file without any link on the way.
  struct Found {
    std::string in_box;
    std::string here;
  };

  /// Follows the path as the kernel will in the box: links are read inside of it, at most 40.
  /// Errors begin with `what`: NotFound; Config for what the box does not show (with what to add),
  /// a loop, or a folder on the way that the agent may not enter.
  base::Result<Found> follow(const std::string& in_box, const std::string& what) const;

  /// Is there a file of this name in the box, or one that only this machine has, so that `follow`
  /// says what to do?
  bool names(const std::string& in_box) const;

  /// Where a relative path of the agent begins.
  const std::string& workingFolder() const { return working_folder_; }

 private:
  enum class Kind { Shown, Made, Hidden };
  struct Spot {
    Kind kind;
    std::string here;
  };
  struct Walk {
    std::string what;
    bool follow_last;
  };

  Spot spotOf(const std::string& in_box) const;
  Spot spotOfImage(const std::string& in_box) const;
  Spot spotOfMachine(const std::string& in_box) const;
  bool leadsToGraft(const std::string& in_box) const;
  base::Result<Found> walk(const std::string& in_box, const Walk& how) const;
  base::Error hidden(const std::string& path, const std::string& what) const;
  bool mayEnter(const std::string& folder) const;

  const JobSpec& job_;
  std::string image_;  // without links; empty: programs of this machine; "/": in place
  std::string working_folder_;
  bool own_uid_;
};

}  // namespace warder::job
