// While it lives, this thread, and the threads it starts, see files as an ordinary user does. Without effect
// unless root runs the test, since an ordinary user is one already.
#pragma once

#include <sys/fsuid.h>
#include <unistd.h>

namespace winnow {

class AsNobody {
 public:
  AsNobody() {
    if (geteuid() == 0) setfsuid(kNobody);
  }
  ~AsNobody() {
    if (geteuid() == 0) setfsuid(0);
  }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;

 private:
  static constexpr uid_t kNobody = 65534;
};

}  // namespace winnow
