#include "fs/holder/messages.h"

#include <poll.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace winnow::holder {

bool send_byte(int socket, char byte, const int* fds, size_t count) {
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(3 * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (count > 0) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(header), fds, count * sizeof(int));
  }
  return sendmsg(socket, &message, MSG_NOSIGNAL) == 1;
}

char receive_byte(int socket, int* fd) {
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) != 1) return 0;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (fd != nullptr && header != nullptr && header->cmsg_type == SCM_RIGHTS) {
    memcpy(fd, CMSG_DATA(header), sizeof *fd);
  }
  return byte;
}

char wait_for_byte(int socket, int milliseconds) {
  pollfd readable{socket, POLLIN, 0};
  return poll(&readable, 1, milliseconds) > 0 ? receive_byte(socket, nullptr) : '\0';
}

void tell_service_manager() {
  const char* name = getenv("NOTIFY_SOCKET");
  sockaddr_un address{};
  if (name == nullptr || (name[0] != '/' && name[0] != '@') || strlen(name) >= sizeof address.sun_path)
    return;
  address.sun_family = AF_UNIX;
  strcpy(address.sun_path, name);
  const size_t length = offsetof(sockaddr_un, sun_path) + strlen(name);
  if (name[0] == '@') address.sun_path[0] = '\0';
  char text[64];
  const int size = snprintf(text, sizeof text, "READY=1\nMAINPID=%d", getpid());
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  sendto(fd, text, static_cast<size_t>(size), MSG_NOSIGNAL | MSG_DONTWAIT,
         reinterpret_cast<sockaddr*>(&address), static_cast<socklen_t>(length));
  close(fd);
}

}  // namespace winnow::holder
