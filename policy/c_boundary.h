// Where C++ ends and the C interface begins: no exception leaves, and what failed is kept as one sentence.
#pragma once

#include <algorithm>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/error.h"
#include "policy/winnow_policy.h"

namespace winnow::c {

void remember_error(const char* sentence, Index sample);

// Runs the body of a C function.
template <typename Body>
int guarded(Body body) {
  try {
    body();
    return WINNOW_OK;
  } catch (const PolicyError& error) {
    remember_error(error.what(), error.sample());
    return WINNOW_REFUSED;
  } catch (const std::exception& error) {
    remember_error(error.what(), kNoSample);
    return WINNOW_FAILED;
  }
}

// Runs the body of a C function that makes a handle.
template <typename Handle, typename Make>
Handle* made(Make make) {
  Handle* handle = nullptr;
  guarded([&] { handle = make(); });
  return handle;
}

// A caller's array. The field is what an error calls it.
template <typename T>
std::span<T> array(const char* field, T* data, int64_t count) {
  if (count < 0) refuse(std::string(field) + " count", "at least 0", std::to_string(count));
  if (data == nullptr && count > 0) refuse(field, "an array", "NULL");
  return {data, static_cast<std::size_t>(count)};
}

template <typename T>
void copy_out(std::span<const T> values, T* out, int64_t* count) {
  std::copy(values.begin(), values.end(), out);
  if (count != nullptr) *count = static_cast<int64_t>(values.size());
}

inline std::string_view text(const char* given) { return given == nullptr ? "" : given; }

template <typename Handle>
Handle& held(Handle* handle) {
  if (handle == nullptr) refuse("handle", "one that was made and not freed", "NULL");
  return *handle;
}

}  // namespace winnow::c
