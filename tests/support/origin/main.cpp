// An S3-compatible server for tests and benchmarks, on loopback only. See server.h for what it can be told.
#include <CLI/CLI.hpp>
#include <iostream>

#include "tests/support/origin/server.h"

int main(int argc, char** argv) {
  CLI::App app("An S3-compatible server for tests: one bucket, on loopback");
  std::string bucket = "data", folder;
  std::vector<std::size_t> generate;
  origin::Account account{.access_key = "test", .secret_key = "secret"};
  origin::ServerOptions options;
  app.add_option("--bucket", bucket, "Its name")->capture_default_str();
  app.add_option("--folder", folder, "Holds the files of this folder at first");
  app.add_option("--generate", generate, "COUNT LEAST MOST SEED: holds that many objects of that many bytes")
      ->expected(4);
  app.add_option("--port", options.port, "0: any");
  app.add_option("--control-port", options.control_port, "0: any");
  app.add_option("--access-key", account.access_key)->capture_default_str();
  app.add_option("--secret-key", account.secret_key)->capture_default_str();
  app.add_option("--session-token", account.session_token);
  app.add_option("--region", account.region)->capture_default_str();
  app.add_flag("--anonymous", account.anonymous, "Let unsigned requests in");
  app.add_option("--certificate", options.certificate, "PEM file; TLS if given");
  app.add_option("--key", options.key, "PEM file");
  CLI11_PARSE(app, argc, argv);
  try {
    origin::Bucket served(bucket, account);
    if (!folder.empty()) served.objects().load_folder(folder);
    if (!generate.empty())
      served.objects().generate(generate[0], generate[1], generate[2],
                                static_cast<std::uint32_t>(generate[3]));
    origin::run_server(served, options);
  } catch (const std::exception& error) {
    std::cerr << "origin: " << error.what() << '\n';
    return 1;
  }
}
