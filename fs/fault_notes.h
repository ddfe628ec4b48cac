// Notes in the survival memory how this process is dying: by a fault of its own, which what it was serving may have
// caused, or by a signal that somebody sent, which it did not. The holder cannot tell from the exit status.
#pragma once

#include "fs/survival_memory.h"

namespace winnow {

// For the whole process, once; `memory` stays for good. Handlers that were there before still run.
void note_faults(SurvivalMemory& memory);
bool was_hit();  // this process is dying

}  // namespace winnow
