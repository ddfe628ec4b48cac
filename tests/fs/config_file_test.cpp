// Where an option comes from: the command line before the environment before the file. Seen through the real
// mount command, which refuses these budgets, and names them, before it touches anything. The mountpoint does
// not exist, so that nothing is ever mounted here.
#include <gtest/gtest.h>

#include <cstdlib>

#include "cache/result.h"
#include "fs/commands.h"
#include "tests/cache/temporary_folder.h"

namespace winnow {
namespace {

struct ConfigFileTest : testing::Test {
  ConfigFileTest() { folder.folder("source"); }
  ~ConfigFileTest() override {
    unsetenv("WINNOW_MEMORY");
    unsetenv("WINNOW_CONFIG");
  }
  // What `winnow WORDS` says when it refuses.
  std::string say(std::vector<std::string> words) {
    CLI::App app;
    app.require_subcommand(1);
    app.fallthrough();
    add_mount_command(app);
    add_unmount_command(app);
    add_status_command(app);
    add_refresh_command(app);
    add_config_option(app);
    std::reverse(words.begin(), words.end());
    try {
      app.parse(std::move(words));
    } catch (const CLI::ParseError& error) {
      return std::string("usage: ") + error.what();
    } catch (const std::exception& error) {
      return error.what();
    }
    return "";
  }
  std::string mount(std::vector<std::string> more = {}) {
    std::vector<std::string> words = {"mount", folder / "source", folder / "mnt", "--state-dir",
                                      folder / "state"};
    words.insert(words.end(), more.begin(), more.end());
    return say(words);
  }
  std::string config(const std::string& text) {
    folder.file("winnow.toml", text);
    return folder / "winnow.toml";
  }
  static bool refuses(const std::string& text, const std::string& budget) {
    return text.find("--memory " + budget + " is more") != std::string::npos;
  }
  TemporaryFolder folder;
};

TEST_F(ConfigFileTest, TheFileGivesWhatNobodyElseDoes) {
  const std::string path = config("memory = \"901T\"\n");
  EXPECT_TRUE(refuses(mount({"--config", path}), "901.0 TiB"));
}

TEST_F(ConfigFileTest, TheEnvironmentGoesBeforeTheFile) {
  setenv("WINNOW_MEMORY", "902T", 1);
  EXPECT_TRUE(refuses(mount({"--config", config("memory = \"901T\"\n")}), "902.0 TiB"));
}

TEST_F(ConfigFileTest, TheCommandLineGoesBeforeAll) {
  setenv("WINNOW_MEMORY", "902T", 1);
  EXPECT_TRUE(refuses(mount({"--config", config("memory = \"901T\"\n"), "--memory", "903T"}), "903.0 TiB"));
}

TEST_F(ConfigFileTest, TheEnvironmentMayNameTheFile) {
  setenv("WINNOW_CONFIG", config("memory = \"901T\"\n").c_str(), 1);
  EXPECT_TRUE(refuses(mount(), "901.0 TiB"));
}

TEST_F(ConfigFileTest, AMissingFileNamedByTheEnvironmentIsRefused) {
  setenv("WINNOW_CONFIG", (folder / "none.toml").c_str(), 1);
  const std::string text = mount();
  EXPECT_NE(text.find("none.toml"), std::string::npos) << text;
}

TEST_F(ConfigFileTest, ASectionMayNameTheCommand) {
  EXPECT_TRUE(refuses(mount({"--config", config("[mount]\nmemory = \"901T\"\n")}), "901.0 TiB"));
}

TEST_F(ConfigFileTest, UnderscoresMayStandForDashes) {
  const std::string text = mount({"--config", config("source_timeout = \"soon\"\nmemory = \"901T\"\n")});
  EXPECT_NE(text.find("'soon' is not a duration"), std::string::npos) << text;
}

TEST_F(ConfigFileTest, AnOptionNobodyHasIsRefusedByName) {
  const std::string text = mount({"--config", config("memmory = \"4G\"\n")});
  EXPECT_NE(text.find("memmory"), std::string::npos) << text;
}

TEST_F(ConfigFileTest, AMissingFileIsRefusedByName) {
  const std::string text = mount({"--config", folder / "none.toml", "--memory", "901T"});
  EXPECT_NE(text.find("none.toml"), std::string::npos) << text;
}

TEST_F(ConfigFileTest, ABadValueNamesTheOption) {
  EXPECT_NE(mount({"--memory", "lots"}).find("--memory"), std::string::npos);
  EXPECT_NE(mount({"--refresh", "often"}).find("--refresh"), std::string::npos);
  EXPECT_NE(mount({"--track", "sometimes"}).find("--track"), std::string::npos);
  EXPECT_NE(mount({"--umask", "999"}).find("--umask"), std::string::npos);
  for (const char* bad : {"--memory=lots", "--umask=999", "--log-level=loud"})
    EXPECT_EQ(mount({bad}).substr(0, 7), "usage: ") << bad;
}

TEST_F(ConfigFileTest, CommandsWithoutAMountSayWhatToDo) {
  for (const char* command : {"status", "refresh", "unmount"}) {
    const std::string text = say({command, folder / "mnt"});
    EXPECT_NE(text.find("; "), std::string::npos) << command << ": " << text;
    EXPECT_NE(text.find(folder / "mnt"), std::string::npos) << command << ": " << text;
  }
}

}  // namespace
}  // namespace winnow
