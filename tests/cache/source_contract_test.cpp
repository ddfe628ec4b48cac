// What every source promises, run over each kind of source there is. A new kind adds a StorageUnderTest and
// its line at the end.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <map>
#include <thread>

#include "cache/directory_source.h"
#include "tests/cache/answer.h"
#include "tests/cache/s3_storage.h"
#include "tests/cache/temporary_folder.h"

namespace winnow {
namespace {

// The storage behind a source, as somebody else changes it.
class StorageUnderTest {
 public:
  virtual ~StorageUnderTest() = default;
  virtual Source& source() = 0;
  virtual void put(const std::string& path, const std::string& content) = 0;  // new, or replaced
  virtual void rewrite(const std::string& path,
                       const std::string& content) = 0;  // in place, where there is one
  virtual void remove(const std::string& path) = 0;
};

class DirectoryStorage final : public StorageUnderTest {
 public:
  explicit DirectoryStorage(bool follow_symlinks) : source_(folder_.path(), follow_symlinks) {}
  Source& source() override { return source_; }
  void put(const std::string& path, const std::string& content) override {
    if (folder_.has(path)) {
      folder_.replace(path, content);
    } else {
      folder_.file(path, content);
    }
  }
  void rewrite(const std::string& path, const std::string& content) override { folder_.file(path, content); }
  void remove(const std::string& path) override { folder_.remove(path); }

 private:
  TemporaryFolder folder_;
  DirectorySource source_;
};

class S3Storage final : public StorageUnderTest {
 public:
  Source& source() override { return bucket_.source(); }
  void put(const std::string& path, const std::string& content) override { bucket_.put(path, content); }
  void rewrite(const std::string& path, const std::string& content) override { bucket_.put(path, content); }
  void remove(const std::string& path) override { bucket_.remove(path); }

 private:
  S3Bucket bucket_;
};

struct Kind {
  const char* name;
  std::unique_ptr<StorageUnderTest> (*make)();
};

void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

class SourceContract : public testing::TestWithParam<Kind> {
 protected:
  Source& source() { return storage_->source(); }
  Listing list() {
    ScanProgress progress;
    return source().list(progress).value();
  }
  std::map<std::string, FileStat> paths() {
    const Listing listing = list();
    std::vector<std::string> path_of(listing.entries.size());
    std::map<std::string, FileStat> found;
    for (std::size_t i = 1; i < listing.entries.size(); ++i) {
      const ListedEntry& entry = listing.entries[i];
      path_of[i] = path_of[entry.folder] + (entry.folder == 0 ? "" : "/") + std::string(listing.name(entry));
      found[path_of[i]] = entry.stat;
    }
    return found;
  }
  Version version(const std::string& path) { return source().stat(path).value().version; }
  std::error_code read_error(const std::string& path, const Version& asked, std::size_t size = 4) {
    const auto bytes = source().read(path, asked, 0, size);
    return bytes ? std::error_code() : bytes.error();
  }
  static bool tells_of_change(const std::error_code& error) {
    return error == errno_error(ESTALE) || error == errno_error(ENOENT) || error == errno_error(ENOTDIR);
  }

  std::unique_ptr<StorageUnderTest> storage_ = GetParam().make();
};

TEST_P(SourceContract, AnEmptySourceListsItsRoot) {
  const Listing listing = list();
  ASSERT_EQ(listing.entries.size(), 1u);
  EXPECT_TRUE(S_ISDIR(listing.entries[0].stat.mode));
  EXPECT_EQ(listing.left_out, LeftOut{});
}

TEST_P(SourceContract, ListsEveryFileAndFolderWithItsSize) {
  storage_->put("a.txt", "12345");
  storage_->put("deep/er/b.txt", "");
  storage_->put("deep/c.txt", "1");
  const auto found = paths();
  ASSERT_EQ(found.size(), 5u);
  EXPECT_TRUE(S_ISREG(found.at("a.txt").mode));
  EXPECT_EQ(found.at("a.txt").version.size, 5u);
  EXPECT_TRUE(S_ISDIR(found.at("deep").mode));
  EXPECT_TRUE(S_ISDIR(found.at("deep/er").mode));
  EXPECT_EQ(found.at("deep/er/b.txt").version.size, 0u);
  EXPECT_EQ(found.at("deep/c.txt").version.size, 1u);
}

TEST_P(SourceContract, EveryEntryComesAfterItsFolder) {
  for (int i = 0; i < 20; ++i)
    storage_->put("f" + std::to_string(i % 4) + "/g" + std::to_string(i % 3) + "/" + std::to_string(i), "x");
  const Listing listing = list();
  for (std::size_t i = 1; i < listing.entries.size(); ++i) {
    EXPECT_LT(listing.entries[i].folder, i);
    EXPECT_TRUE(S_ISDIR(listing.entries[listing.entries[i].folder].stat.mode));
  }
}

TEST_P(SourceContract, StatAndListTellTheSameVersion) {
  storage_->put("x/y", "content");
  EXPECT_EQ(paths().at("x/y").version, version("x/y"));
  EXPECT_EQ(source().stat("missing").error(), errno_error(ENOENT));
}

TEST_P(SourceContract, ReadsExactRanges) {
  const std::string content = pattern(300'000);
  storage_->put("file", content);
  const Version asked = version("file");
  for (const Range range :
       {Range{0, 300'000}, Range{0, 1}, Range{4095, 2}, Range{299'999, 1}, Range{12'345, 67'890}}) {
    const auto bytes = source().read("file", asked, range.offset, range.size);
    ASSERT_TRUE(bytes.has_value());
    EXPECT_TRUE(to_text(bytes.value()) == content.substr(range.offset, range.size)) << range.offset;
  }
}

TEST_P(SourceContract, AReadPastTheEndIsCutOff) {
  storage_->put("file", "0123456789");
  EXPECT_EQ(to_text(source().read("file", version("file"), 8, 100).value()), "89");
  EXPECT_EQ(source().read("file", version("file"), 10, 100).value().size(), 0u);
}

TEST_P(SourceContract, AnEmptyFileReadsAsNothing) {
  storage_->put("empty", "");
  EXPECT_EQ(source().read("empty", version("empty"), 0, 10).value().size(), 0u);
}

TEST_P(SourceContract, AReplacedFileIsStale) {
  storage_->put("file", "same");
  const Version old = version("file");
  storage_->put("file", "SAME");
  EXPECT_EQ(read_error("file", old), errno_error(ESTALE));
  EXPECT_FALSE(read_error("file", version("file")));
}

TEST_P(SourceContract, AFileWrittenInPlaceIsStale) {
  storage_->put("file", "long before");
  const Version old = version("file");
  storage_->rewrite("file", "long after!");
  EXPECT_EQ(read_error("file", old), errno_error(ESTALE));
}

TEST_P(SourceContract, ATruncatedOrGrownFileIsStale) {
  storage_->put("file", "0123456789");
  const Version old = version("file");
  storage_->rewrite("file", "0123");
  EXPECT_EQ(read_error("file", old), errno_error(ESTALE));
  storage_->rewrite("file", "0123456789abc");
  EXPECT_EQ(read_error("file", old), errno_error(ESTALE));
}

TEST_P(SourceContract, ARemovedFileTellsOfTheChange) {
  storage_->put("folder/file", "0123");
  const Version old = version("folder/file");
  storage_->remove("folder/file");
  EXPECT_TRUE(tells_of_change(read_error("folder/file", old)));
  storage_->remove("folder");
  EXPECT_TRUE(tells_of_change(read_error("folder/file", old)));
}

TEST_P(SourceContract, AFolderInTheFilesPlaceTellsOfTheChange) {
  storage_->put("name", "0123");
  const Version old = version("name");
  storage_->remove("name");
  storage_->put("name/inner", "0123");
  EXPECT_TRUE(tells_of_change(read_error("name", old)));
}

TEST_P(SourceContract, ACancelledScanEndsWithEcanceled) {
  storage_->put("a/b", "x");
  ScanProgress progress;
  progress.cancelled = true;
  EXPECT_EQ(source().list(progress).error(), errno_error(ECANCELED));
}

TEST_P(SourceContract, AScanTellsHowFarItIs) {
  for (int i = 0; i < 10; ++i) storage_->put("a/" + std::to_string(i), "x");
  ScanProgress progress;
  ASSERT_TRUE(source().list(progress).has_value());
  EXPECT_EQ(progress.entries, 11u);
}

TEST_P(SourceContract, IdentityIsStable) {
  EXPECT_FALSE(source().identity().empty());
  EXPECT_EQ(source().identity(), source().identity());
}

TEST_P(SourceContract, AReadNeverMixesVersionsWhileAWriterIsAtWork) {
  const std::string before(200'000, 'a');
  const std::string after(200'000, 'b');
  storage_->put("file", before);
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (int i = 0; i < 60; ++i) storage_->rewrite("file", i % 2 == 0 ? after : before);
    done = true;
  });
  int whole = 0;
  while (!done) {
    const auto now = source().stat("file");
    if (!now) continue;
    const auto bytes = source().read("file", now.value().version, 0, 200'000);
    if (!bytes) continue;
    const std::string text = to_text(bytes.value());
    ASSERT_EQ(text.size(), now.value().version.size);
    ASSERT_TRUE(text.find_first_not_of(text.empty() ? 'a' : text[0]) == std::string::npos) << "two versions";
    ++whole;
  }
  writer.join();
  EXPECT_TRUE(source().read("file", version("file"), 0, 10).has_value());
}

std::string name_of(const testing::TestParamInfo<Kind>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(
    Sources, SourceContract,
    testing::Values(
        Kind{"Directory",
             []() -> std::unique_ptr<StorageUnderTest> { return std::make_unique<DirectoryStorage>(false); }},
        Kind{"DirectoryFollowingSymlinks",
             []() -> std::unique_ptr<StorageUnderTest> { return std::make_unique<DirectoryStorage>(true); }},
        Kind{"S3", []() -> std::unique_ptr<StorageUnderTest> { return std::make_unique<S3Storage>(); }}),
    name_of);

}  // namespace
}  // namespace winnow
