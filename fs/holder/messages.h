// Single bytes, with descriptors beside them, over Unix sockets that keep messages whole.
#pragma once

#include <cstddef>

namespace winnow::holder {

// Sends a byte with up to three descriptors. False if the other side is gone.
bool send_byte(int socket, char byte, const int* fds = nullptr, size_t count = 0);
// Receives a byte and perhaps one descriptor, without waiting; 0 when the other side is gone.
char receive_byte(int socket, int* fd);
// Waits for a byte; 0 when it does not come in time or the other side is gone.
char wait_for_byte(int socket, int milliseconds);

// To systemd, for units of Type=notify: the mount answers, and this process is the one to watch.
void tell_service_manager();

}  // namespace winnow::holder
