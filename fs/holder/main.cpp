#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "fs/holder/holder.h"

namespace {

using winnow::holder::Settings;

// The value of `name=value`, or null if the word is another's.
const char* value_of(const char* word, const char* name) {
  const size_t length = strlen(name);
  return strncmp(word, name, length) == 0 && word[length] == '=' ? word + length + 1 : nullptr;
}

bool take(const char* word, Settings& settings) {
  struct Number {
    const char* name;
    int* place;
  };
  const Number numbers[] = {{"device", &settings.device},
                            {"memory", &settings.memory},
                            {"lock", &settings.lock},
                            {"ready", &settings.ready},
                            {"life", &settings.life},
                            {"adopted", &settings.adopted},
                            {"takeover", &settings.takeover},
                            {"max-restarts", &settings.max_restarts},
                            {"watchdog", &settings.watchdog_seconds}};
  for (const Number& number : numbers) {
    if (const char* text = value_of(word, number.name)) {
      *number.place = atoi(text);
      return true;
    }
  }
  struct Text {
    const char* name;
    const char** place;
  };
  const Text texts[] = {
      {"state-dir", &settings.state_dir}, {"worker", &settings.worker}, {"mountpoint", &settings.mountpoint}};
  for (const Text& text : texts) {
    if (const char* found = value_of(word, text.name)) {
      *text.place = found;
      return true;
    }
  }
  if (strcmp(word, "foreground") == 0) {
    settings.foreground = true;
    return true;
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    if (!take(argv[i], settings)) {
      fprintf(stderr, "winnow-holder: '%s' is not for me; I am started by winnow mount\n", argv[i]);
      return 2;
    }
  }
  if (settings.device < 0 || settings.memory < 0 || settings.state_dir == nullptr ||
      settings.worker == nullptr || settings.mountpoint == nullptr) {
    fprintf(stderr, "winnow-holder: started by winnow mount, not by hand\n");
    return 2;
  }
  winnow::holder::log_to(settings.state_dir, settings.foreground);
  return winnow::holder::Holder(settings).run();
}
