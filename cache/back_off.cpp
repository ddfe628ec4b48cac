#include "cache/back_off.h"

#include <algorithm>
#include <cerrno>
#include <random>

namespace winnow {

namespace {

constexpr std::chrono::milliseconds kLongestPause{5'000};

}  // namespace

bool is_passing(const std::error_code& error) {
  switch (error.value()) {
    case EIO:
    case ETIMEDOUT:
    case EAGAIN:
    case ENOTCONN:
    case ECONNREFUSED:
    case ECONNRESET:
    case ECONNABORTED:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ENETUNREACH:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case ENOBUFS:
    case EBUSY:
      return true;
    default:
      return false;
  }
}

std::chrono::milliseconds BackOff::next() {
  thread_local std::minstd_rand random(std::random_device{}());
  const auto half = length_.count() / 2;
  const std::chrono::milliseconds pause(half +
                                        static_cast<long>(random() % static_cast<unsigned long>(half + 1)));
  length_ = std::min(length_ * 2, kLongestPause);
  return pause;
}

}  // namespace winnow
