// What the holder says to a worker, to commands, and to the holder that succeeds it. All are single bytes on
// Unix sockets; descriptors travel as SCM_RIGHTS beside them.
#pragma once

#include <cstdint>

namespace winnow::holder_protocol {

// Worker to holder, on the life line (a socket whose end also tells of the worker's death).
inline constexpr char kReady = 'R';      // serves
inline constexpr char kUnmounted = 'U';  // the mount is gone: end
inline constexpr char kAborted = 'A';    // the connection was aborted from outside, the mount is still there
inline constexpr char kNewDevice = 'D';  // with the descriptor of a new mount

// Holder to a standby worker: begin.
inline constexpr char kGo = 'G';

// Command or successor to holder, on the socket <state-dir>/holder; the holder answers with a byte.
inline constexpr char kRestart = 'r';  // start a worker again after giving up
inline constexpr char kPass = 'p';     // answer: kOk with the descriptors of device, memory and lock
inline constexpr char kYield = 'y';    // end your worker, answer kOk, and wait
inline constexpr char kLeave = 'l';    // the successor serves: end. Hanging up instead takes the mount back.
inline constexpr char kOk = '+';
inline constexpr char kRefused = '-';

// Exit codes of a worker that mean something to the holder.
inline constexpr int kExitUnmounted = 0;
inline constexpr int kExitAborted = 75;

}  // namespace winnow::holder_protocol
