// The bucket: keys in order, each with its bytes, ETag (MD5, as S3 has it for plain uploads) and time.
// Bytes are immutable and shared, so an answer under way keeps the version it began with. One thread.
#pragma once

#include <cstdint>
#include <ctime>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace origin {

struct Object {
  std::shared_ptr<const std::string> bytes;
  std::size_t offset = 0;  // generated objects are parts of one shared buffer
  std::size_t size = 0;
  std::string etag;  // without quotes
  std::time_t modified = 0;

  std::string_view view() const { return std::string_view(*bytes).substr(offset, size); }
};

class Objects {
 public:
  const Object* find(const std::string& key) const;
  const std::map<std::string, Object>& all() const { return objects_; }

  void put(const std::string& key, std::string bytes);
  void remove(const std::string& key) { objects_.erase(key); }

  // Every regular file below `folder`, under its relative path.
  void load_folder(const std::string& folder);
  // `count` objects "dNNN/fNNNNNN.bin", a hundred in a folder, of `least` to `most` bytes drawn by `seed`.
  void generate(std::size_t count, std::size_t least, std::size_t most, std::uint32_t seed);

 private:
  std::map<std::string, Object> objects_;
};

}  // namespace origin
