// What a test expects a refused input to say.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "policy/error.h"

namespace winnow {

template <typename Body>
std::string refusal_of(Body body) {
  try {
    body();
  } catch (const PolicyError& error) {
    return error.what();
  }
  return "nothing was refused";
}

}  // namespace winnow
