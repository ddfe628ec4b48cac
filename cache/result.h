// The one result type. Errors are errno values; a miss is a value, not an error. Exceptions are for start-up
// (StartupError: one sentence for the user) and broken invariants; none crosses into a C callback.
#pragma once

#include <boost/outcome/std_result.hpp>
#include <boost/outcome/try.hpp>
#include <cerrno>
#include <stdexcept>
#include <string>
#include <system_error>

namespace winnow {

template <typename T>
using Result = BOOST_OUTCOME_V2_NAMESPACE::std_result<T>;

inline std::error_code errno_error(int code) { return {code, std::generic_category()}; }
inline std::error_code last_error() { return errno_error(errno); }
inline std::string errno_text(int code) { return std::generic_category().message(code); }

// What the user is told when something cannot start or a command fails: what, where, what to do.
struct StartupError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace winnow
