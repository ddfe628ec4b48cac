#include "fs/tree.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

#include "tests/fs/snapshot_maker.h"

namespace winnow {
namespace {

struct TreeTest : testing::Test {
  TreeTest() {
    listing.folder("d").file("d/a").file("d/b").folder("d/e").file("d/e/f").symlink("a", "d/l").file("top");
    tree = maker.tree(listing);
  }
  NodeId id(const std::string& path) const { return NodeId{id_at(*tree, path)}; }
  FileStat changed(const std::string& path) {
    FileStat stat = listing.stat(path);
    ++stat.version.mtime.seconds;
    stat.version.size = 77;
    return stat;
  }
  static std::vector<std::string> names(const Tree& of, const std::string& folder) {
    std::vector<std::string> all;
    of.list(*at_path(of, folder), 0, [&](std::string_view name, const Node&, std::uint64_t) {
      all.emplace_back(name);
      return true;
    });
    std::sort(all.begin(), all.end());
    return all;
  }

  SnapshotMaker maker;
  ListingBuilder listing;
  std::shared_ptr<Tree> tree;
};

using OrderedNames = std::vector<std::string>;

TEST_F(TreeTest, FindsNodesByNameAndById) {
  const auto node = at_path(*tree, "d/e/f");
  ASSERT_TRUE(node);
  EXPECT_EQ(tree->find(node->id)->row, node->row);
  EXPECT_EQ(tree->path(*node), "d/e/f");
  EXPECT_EQ(tree->parent(*node).id, id("d/e"));
  EXPECT_EQ(tree->parent(tree->root()).id, kRootNode);
  EXPECT_FALSE(tree->child(tree->root(), "none"));
  EXPECT_FALSE(tree->find(NodeId{12345}));
  EXPECT_EQ(tree->target(*at_path(*tree, "d/l")), "a");
}

TEST_F(TreeTest, ListsEveryNameOnce) {
  EXPECT_EQ(names(*tree, "d"), (OrderedNames{"a", "b", "e", "l"}));
  EXPECT_EQ(names(*tree, ""), (OrderedNames{"d", "top"}));
}

TEST_F(TreeTest, AListingGoesOnBehindAnyPosition) {
  ListingBuilder many;
  for (int i = 0; i < 200; ++i) many.file("f" + std::to_string(i));
  const auto wide = maker.tree(many);
  std::set<std::string> seen;
  std::uint64_t position = 0;
  for (bool more = true; more;) {
    more = false;
    int left = 7;
    wide->list(wide->root(), position, [&](std::string_view name, const Node&, std::uint64_t next) {
      if (left-- == 0) return !(more = true);
      EXPECT_TRUE(seen.emplace(name).second) << name << " twice";
      EXPECT_GT(next, position);
      position = next;
      return true;
    });
  }
  EXPECT_EQ(seen.size(), 200u);
}

TEST_F(TreeTest, PositionsStayTrueWhenOtherNamesComeAndGo) {
  ListingBuilder before;
  for (int i = 0; i < 100; ++i) before.file("f" + std::to_string(i));
  const auto old = maker.tree(before);
  std::vector<std::string> order;
  std::vector<std::uint64_t> positions;
  old->list(old->root(), 0, [&](std::string_view name, const Node&, std::uint64_t next) {
    order.emplace_back(name);
    positions.push_back(next);
    return true;
  });
  // A reader has the first 50; then every second name goes, the one at its position included, and others
  // come.
  ListingBuilder after;
  std::set<std::string> expected;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i % 2 == 0) continue;
    after.file(order[i]);
    if (i >= 50) expected.insert(order[i]);
  }
  for (int i = 0; i < 30; ++i) after.file("g" + std::to_string(i));
  const auto now = maker.tree(after, old.get());
  std::set<std::string> seen;
  now->list(now->root(), positions[49], [&](std::string_view name, const Node&, std::uint64_t) {
    if (name[0] == 'f') {
      EXPECT_TRUE(seen.emplace(name).second);
    }
    return true;
  });
  EXPECT_EQ(seen, expected);
}

TEST_F(TreeTest, AnAmendedFileHasANewIdAndTheOldOneIsGone) {
  const NodeId old = id("d/a");
  const auto node = tree->amend(old, changed("d/a"));
  ASSERT_TRUE(node);
  EXPECT_NE(node->id, old);
  EXPECT_FALSE(tree->find(old));
  EXPECT_EQ(id("d/a"), node->id);
  EXPECT_EQ(tree->find(node->id)->stat.version.size, 77u);
  EXPECT_EQ(tree->path(*node), "d/a");
  EXPECT_EQ(tree->amendment_count(), 1u);
  EXPECT_EQ(names(*tree, "d"), (OrderedNames{"a", "b", "e", "l"}));
}

TEST_F(TreeTest, AnAmendedFileMayBeAmendedAgain) {
  const NodeId first = id("d/a");
  const NodeId second = tree->amend(first, changed("d/a"))->id;
  const NodeId third = tree->amend(second, changed("d/a"))->id;
  EXPECT_EQ((std::set{first, second, third}).size(), 3u);
  EXPECT_FALSE(tree->find(first));
  EXPECT_FALSE(tree->find(second));
  EXPECT_TRUE(tree->find(third));
}

TEST_F(TreeTest, AFileThatIsGoneHasNoNameAndNoId) {
  const NodeId old = id("d/a");
  EXPECT_FALSE(tree->amend(old, std::nullopt));
  EXPECT_FALSE(tree->find(old));
  EXPECT_FALSE(at_path(*tree, "d/a"));
  EXPECT_EQ(names(*tree, "d"), (OrderedNames{"b", "e", "l"}));
}

TEST_F(TreeTest, OnlyTheFirstToAmendDoes) {
  const NodeId old = id("d/a");
  const auto first = tree->amend(old, changed("d/a"));
  EXPECT_FALSE(tree->amend(old, changed("d/a")));
  EXPECT_EQ(id("d/a"), first->id);
}

TEST_F(TreeTest, AnAdoptedFileKeepsItsIdWithNewFacts) {
  const NodeId old = id("d/a");
  tree->adopt(old, changed("d/a"));
  EXPECT_EQ(id("d/a"), old);
  EXPECT_EQ(tree->find(old)->stat.version.size, 77u);
}

TEST_F(TreeTest, AmendmentsOutliveARestart) {
  const NodeId new_a = tree->amend(id("d/a"), changed("d/a"))->id;
  tree->amend(id("d/b"), std::nullopt);
  const NodeId top = id("top");
  tree->adopt(top, changed("top"));
  const std::uint64_t next = tree->next_id();
  tree = maker.open();
  EXPECT_EQ(id("d/a"), new_a);
  EXPECT_EQ(at_path(*tree, "d/a")->stat.version, changed("d/a").version);
  EXPECT_FALSE(at_path(*tree, "d/b"));
  EXPECT_EQ(tree->find(top)->stat.version.size, 77u);
  EXPECT_EQ(tree->next_id(), next);
  EXPECT_EQ(tree->amendment_count(), 3u);
}

TEST_F(TreeTest, AnotherSnapshotDoesNotTakeUpOldAmendments) {
  tree->amend(id("d/b"), std::nullopt);
  tree = maker.tree(listing);
  EXPECT_EQ(tree->amendment_count(), 0u);
  EXPECT_TRUE(at_path(*tree, "d/b"));
}

TEST_F(TreeTest, WithoutAJournalAmendmentsEndWithTheTree) {
  const auto catalogue = std::make_shared<const Catalogue>(maker.catalogue_path());
  Tree(catalogue, "").amend(id("d/a"), std::nullopt);
  EXPECT_TRUE(at_path(Tree(catalogue, ""), "d/a"));
}

TEST_F(TreeTest, NamesOfAPlainFileAreOne) {
  const auto found = tree->names(*at_path(*tree, "d/e/f"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].folder, id("d/e"));
  EXPECT_EQ(found[0].name, "f");
  EXPECT_EQ(found[0].path, "d/e/f");
}

TEST_F(TreeTest, NamesOfAHardLinkedFileAreAllOfThem) {
  const auto linked = maker.tree(ListingBuilder()
                                     .folder("x")
                                     .folder("y")
                                     .file("x/one")
                                     .hard_link("x/one", "y/two")
                                     .hard_link("x/one", "three"));
  std::set<std::string> paths;
  for (const Name& name : linked->names(*at_path(*linked, "y/two"))) {
    paths.insert(name.path);
    EXPECT_EQ(linked->child(*linked->find(name.folder), name.name)->id, at_path(*linked, "x/one")->id);
  }
  EXPECT_EQ(paths, (std::set<std::string>{"x/one", "y/two", "three"}));
}

TEST_F(TreeTest, ASupersededIdStillTellsTheNamesItHad) {
  const NodeId first = id("d/a");
  EXPECT_TRUE(tree->names_of_superseded(first).empty()) << "it is still there";
  const NodeId second = tree->amend(first, changed("d/a"))->id;
  tree->amend(second, std::nullopt);
  for (const NodeId old : {first, second}) {
    const auto found = tree->names_of_superseded(old);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].path, "d/a");
    EXPECT_EQ(found[0].folder, id("d"));
  }
  EXPECT_TRUE(tree->names_of_superseded(NodeId{99'999}).empty());
}

TEST_F(TreeTest, AnAmendedHardLinkChangesUnderAllItsNames) {
  auto links = ListingBuilder().folder("x").file("x/one").hard_link("x/one", "two");
  const auto linked = maker.tree(links);
  FileStat now = links.stat("two");
  ++now.version.size;
  const auto node = linked->amend(NodeId{id_at(*linked, "two")}, now);
  EXPECT_EQ(id_at(*linked, "x/one"), value(node->id));
  EXPECT_EQ(id_at(*linked, "two"), value(node->id));
}

TEST_F(TreeTest, ReadersSeeWholeAmendmentsWhileTheyAreMade) {
  // Size and mtime are always changed together, so readers must see them together.
  FileStat now = listing.stat("d/a");
  const auto amend_to = [&](int number) {
    now.version.size = static_cast<std::uint64_t>(number);
    now.version.mtime.seconds = number;
    return tree->amend(id("d/a"), now);
  };
  amend_to(1);
  std::atomic<bool> done{false};
  std::vector<std::thread> readers;
  for (int t = 0; t < 3; ++t) {
    readers.emplace_back([&] {
      while (!done) {
        const auto node = at_path(*tree, "d/a");
        ASSERT_TRUE(node);
        ASSERT_EQ(node->stat.version.size, static_cast<std::uint64_t>(node->stat.version.mtime.seconds));
        tree->find(node->id);
        tree->list(*at_path(*tree, "d"), 0,
                   [](std::string_view, const Node&, std::uint64_t) { return true; });
      }
    });
  }
  std::set<NodeId> ids;
  for (int i = 2; i < 500; ++i) {
    const auto node = amend_to(i);
    ASSERT_TRUE(node);
    EXPECT_TRUE(ids.insert(node->id).second) << "an id given twice";
  }
  done = true;
  for (auto& reader : readers) reader.join();
}

TEST_F(TreeTest, OfManyWhoAmendOneFileAtOnceOneDoes) {
  for (int round = 0; round < 20; ++round) {
    const NodeId old = id("d/a");
    std::atomic<int> amended{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        if (tree->amend(old, changed("d/a"))) ++amended;
      });
    }
    for (auto& thread : threads) thread.join();
    ASSERT_EQ(amended, 1);
  }
}

}  // namespace
}  // namespace winnow
