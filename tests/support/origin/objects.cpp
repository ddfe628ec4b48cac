#include "tests/support/origin/objects.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "tests/support/origin/digests.h"

namespace origin {

const Object* Objects::find(const std::string& key) const {
  const auto found = objects_.find(key);
  return found == objects_.end() ? nullptr : &found->second;
}

void Objects::put(const std::string& key, std::string bytes) {
  Object object;
  object.size = bytes.size();
  object.etag = to_hex(md5(bytes));
  object.modified = std::time(nullptr);
  object.bytes = std::make_shared<const std::string>(std::move(bytes));
  objects_[key] = std::move(object);
}

void Objects::load_folder(const std::string& folder) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    put(entry.path().lexically_relative(folder).string(),
        std::string(std::istreambuf_iterator<char>(file), {}));
  }
}

void Objects::generate(std::size_t count, std::size_t least, std::size_t most, std::uint32_t seed) {
  std::mt19937_64 draw(seed);
  std::string random(most + (4 << 20), '\0');
  for (std::size_t i = 0; i + 8 <= random.size(); i += 8) {
    const std::uint64_t word = draw();
    random.replace(i, 8, reinterpret_cast<const char*>(&word), 8);
  }
  const auto shared = std::make_shared<const std::string>(std::move(random));
  for (std::size_t i = 0; i < count; ++i) {
    Object object;
    object.bytes = shared;
    object.size = least + draw() % (most - least + 1);
    object.offset = draw() % (shared->size() - object.size + 1);
    object.etag = to_hex(md5(object.view()));
    object.modified = 1'700'000'000 + static_cast<std::time_t>(i);
    char key[64];
    std::snprintf(key, sizeof key, "d%03zu/f%06zu.bin", i / 100, i);
    objects_[key] = std::move(object);
  }
}

}  // namespace origin
