#include <gtest/gtest.h>

#include "fs/select_policies.h"
#include "tests/policy/refusal.h"

namespace winnow {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kLosses =
    "id,path,loss,p_target,p_other,correct\n"
    "7,\"a, "
    "b.jpg\",0.1,0.9,0.05,1\n3,b.jpg,2.3,0.1,0.8,0\n9,c.jpg,,,,\n4,d.jpg,0.7,0.5,0.4,1\n5,e.jpg,0.01,0.99,0."
    "005,1\n";

Json selected(const std::string& table, SelectOptions options) {
  return select_from(SelectTable::parse(table), options);
}

std::string refused(const std::string& table, SelectOptions options) {
  return refusal_of([&] { selected(table, options); });
}

TEST(Select, IowaTellsWhoLeavesByTheIdsOfTheTable) {
  const Json decision = selected(kLosses, {.policy = "iowa", .parameters = "gamma=1"});
  EXPECT_EQ(decision["out"], Json::parse("[5,7]"));
  EXPECT_EQ(decision["in_process"], 3);
  EXPECT_EQ(decision["samples"][3]["path"], "a, b.jpg");
  EXPECT_EQ(decision["samples"][3]["bucket"], "waiting");
  EXPECT_EQ(decision["samples"][4]["entropy"], nullptr);  // never scored, so it stays
}

TEST(Select, JsonInEitherFormIsTheSameTable) {
  const SelectOptions options{.policy = "dpt", .workers = 2};
  const Json rows = selected(R"([{"id":1,"loss":3},{"id":2,"loss":1},{"id":3}])", options);
  EXPECT_EQ(rows, selected(R"({"id":[1,2,3],"loss":[3,1,null]})", options));
  EXPECT_EQ(rows, selected("id,loss\n1,3\n2,1\n3,\n", options));
  EXPECT_EQ(rows["order"], Json::parse("[1,3,2]"));
  EXPECT_EQ(rows["workers"], Json::parse("[[1,2],[3]]"));
}

TEST(Select, RepeatedIdsAreAHistory) {
  const Json decision =
      selected("id,loss\n1,1\n2,5\n1,3\n2,5\n", {.policy = "dpt", .parameters = "measure=variance"});
  EXPECT_EQ(decision["samples"][0]["importance"], 1.0);
  EXPECT_EQ(decision["samples"][1]["importance"], 0.0);
  const Json bias = selected("id,p_target\n1,0.25\n1,0.75\n2,0.5\n",
                             {.policy = "active_bias", .parameters = "epsilon=0.01"});
  EXPECT_NEAR(bias["samples"][0]["weight"].get<double>(), 0.2676941016, 1e-9);
}

TEST(Select, ASelectorGoesBatchByBatch) {
  const Json decision =
      selected("loss\n1\n2\n3\n4\n8\n7\n6\n5\n",
               {.policy = "adaselection", .parameters = "methods=big_loss rate=0.5 batch=4"});
  EXPECT_EQ(decision["batches"][0]["kept"], Json::parse("[2,3]"));
  EXPECT_EQ(decision["batches"][1]["kept"], Json::parse("[4,5]"));
  EXPECT_EQ(decision["batches"][1]["step_after"], 2);
}

TEST(Select, GroupsAndCoresetsWork) {
  const Json groups = selected("hash,label\n00,cat\n01,cat\nffff,cat\n00,dog\n", {.policy = "groups"});
  EXPECT_EQ(groups["groups"], Json::parse("[[0,1],[2],[3]]"));
  const Json chosen = selected("p0,p1\n0.5,0.5\n0.9,0.1\n0.6,0.4\n",
                               {.policy = "coreset", .parameters = "uncertainty=margin"});
  EXPECT_EQ(chosen["chosen"], Json::parse("[0,2]"));
}

TEST(Select, TheBucketColumnSaysWhereSamplesStart) {
  const Json decision =
      selected("id,p_target,bucket\n1,0.3,waiting\n2,0.4,in_process\n3,0.5,\n", {.policy = "iowa"});
  EXPECT_EQ(decision["waiting"], 1);
  EXPECT_EQ(refused("id,p_target,bucket\n1,0.3,gone\n", {.policy = "iowa"}),
            "bucket of sample 1 must be in_process or waiting, got \"gone\"");
}

TEST(Select, ErrorsNameTheFieldAndTheSampleByItsId) {
  EXPECT_EQ(refused("id,p_target\n5,0.5\n42,1.5\n", {.policy = "iowa"}),
            "p_target of sample 42 must be in [0, 1], got 1.5");
  EXPECT_EQ(refused("id,loss\n5,0.5\n42,nan\n", {.policy = "online"}),
            "loss of sample 42 must be a finite number, got nan");
  EXPECT_EQ(refused("id,loss\n5,0.5\n42,inf\n", {.policy = "adaselection"}),
            "loss of sample 42 must be a finite number, got inf");
  EXPECT_EQ(refused("id,size,p_target\n5,-1,0.1\n", {.policy = "iowa"}),
            "size of sample 5 must be a finite number of at least 0, got -1");
  EXPECT_EQ(refused("loss\nmany\n", {.policy = "dpt"}), "loss of row 1 must be a number, got \"many\"");
  EXPECT_EQ(refused("id\n1\n", {.policy = "dpt"}), "table must have a column loss, which dpt decides by");
  EXPECT_EQ(refused("id\nx\n", {.policy = "dpt"}), "id of row 1 must be an integer of at least 0, got \"x\"");
  EXPECT_EQ(refused("loss\n1\n", {.policy = "dpt", .workers = 0}),
            "workers must be an integer in [1, 1], the number of samples, got 0");
  EXPECT_EQ(refused("loss\n1\n", {.policy = "adaselection", .parameters = "rate=0"}),
            "rate must be in (0, 1], got 0");
  EXPECT_EQ(refused("loss\n1\n", {.policy = "lru"}),
            "policy must be a sampler, selector, partition, subset or grouping, got lru, which decides in "
            "the cache");
  EXPECT_EQ(refused("a,b\n1\n", {.policy = "dpt"}), "row 1 must have 2 cells, got 1");
  EXPECT_EQ(refused("  ", {.policy = "dpt"}), "table must have at least 1 row, got none");
  EXPECT_EQ(refused("loss\n", {.policy = "dpt"}), "table must have at least 1 row, got none");
  EXPECT_EQ(refused("hash,label\nxyz,1\n", {.policy = "groups"}),
            "hash of sample 0 must be up to 16 hexadecimal digits, got \"xyz\"");
  EXPECT_EQ(refused("{\"loss\":[1,2],\"id\":[1]}", {.policy = "dpt"}),
            "column loss must have 1 values, got 2");
}

}  // namespace
}  // namespace winnow
