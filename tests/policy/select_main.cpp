// `winnow select` alone, so that it is tested without the rest of the command line.
#include <iostream>

#include "fs/select_command.h"

int main(int argc, char** argv) {
  CLI::App app("winnow");
  winnow::add_select_command(app);
  app.require_subcommand(1);
  try {
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const std::exception& error) {
    std::cerr << "winnow: " << error.what() << "\n";
    return 1;
  }
}
