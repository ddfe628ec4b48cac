// Options whose words have a parser of ours: a word that it refuses is a usage error, as those that CLI11 finds are.
#pragma once

#include <CLI/CLI.hpp>
#include <exception>
#include <string>

namespace winnow {

// Runs the parser for the sake of its error.
template <typename Parse>
CLI::Validator parsed_by(Parse parse, const std::string& kind) {
  return CLI::Validator(
      [parse](std::string& text) {
        try {
          parse(text);
          return std::string();
        } catch (const std::exception& error) {
          return std::string(error.what());
        }
      },
      kind);
}

}  // namespace winnow
