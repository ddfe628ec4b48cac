#include "fs/trace.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "cache/result.h"
#include "fs/csv.h"
#include "tests/cache/temporary_folder.h"

namespace winnow {
namespace {

class TraceTest : public testing::Test {
 protected:
  AccessTrace read(const std::string& text, const std::string& scores = "", double unimportant = 0.5) {
    folder.file("trace.csv", text);
    if (!scores.empty()) folder.file("scores.csv", scores);
    const std::string scores_file = scores.empty() ? "" : folder / "scores.csv";
    return read_trace(folder / "trace.csv", {.scores_file = scores_file, .unimportant = unimportant});
  }
  std::string refusal(const std::string& text, const std::string& scores = "") {
    try {
      read(text, scores);
    } catch (const std::exception& error) {
      const std::string sentence = error.what();
      const std::size_t at = sentence.find(folder.path());
      if (at == std::string::npos) return sentence;
      return sentence.substr(0, at) + sentence.substr(at + folder.path().size() + 1);
    }
    return "nothing was refused";
  }
  static std::vector<std::uint64_t> ids(const AccessTrace& trace) {
    std::vector<std::uint64_t> all;
    for (const SampleId id : trace.reads) all.push_back(value(id));
    return all;
  }

  TemporaryFolder folder;
};

TEST_F(TraceTest, ReadsPathsSizesAndLabelsInAnyOrderOfColumns) {
  const AccessTrace trace = read(
      "bytes,other,path\r\n"
      "10,x,cat/1.jpg\r\n"
      "20,y,dog/2.PNG\r\n"
      "10,z,cat/1.jpg\r\n"
      "30,z,train/cat/3.txt\n"
      "5,,top\n");
  EXPECT_EQ(ids(trace), (std::vector<std::uint64_t>{1, 2, 1, 3, 4}));
  ASSERT_EQ(trace.samples.size(), 4U);
  EXPECT_EQ(trace.total_bytes(), 65U);
  EXPECT_EQ(trace.first_reads(), 4U);
  EXPECT_NE(trace.samples[0].label, trace.samples[1].label);
  EXPECT_EQ(trace.samples[0].label, trace.samples[2].label);  // below the split
  EXPECT_FALSE(trace.samples[3].label);
  EXPECT_TRUE(trace.samples[0].ends_itself && trace.samples[1].ends_itself);
  EXPECT_FALSE(trace.samples[2].ends_itself || trace.samples[3].ends_itself);
}

TEST_F(TraceTest, WhatIsWrittenReadsBackWhateverThePathHolds) {
  const std::vector<std::string> paths = {"a,b/c d.jpg", "q\"uote\"/x",  "line\nend/y\r", " blanks / ",
                                          "\xff\xfe/z",  "\"",          "plain"};
  std::string text(kTraceHeader);
  for (const std::string& path : paths)
    append_line(text, {.microseconds = 1'700'000'000'000'042, .path = path, .bytes = 7, .reader = 12});
  append_line(text, {.microseconds = 0, .path = "last", .bytes = 8});
  EXPECT_TRUE(text.ends_with("1700000000.000042,plain,7,12\n0.000000,last,8,\n")) << text;
  std::istringstream stream(text);
  CsvReader csv(stream, "the trace");
  std::vector<std::string> cells;
  ASSERT_TRUE(csv.next(cells));
  for (const std::string& path : paths) {
    ASSERT_TRUE(csv.next(cells));
    EXPECT_EQ(cells, (std::vector<std::string>{"1700000000.000042", path, "7", "12"}));
  }
  EXPECT_EQ(read(text).samples.size(), paths.size() + 1);
}

TEST_F(TraceTest, AnotherSizeIsAnotherVersion) {
  EXPECT_EQ(ids(read("path,bytes\na,1\na,2\na,2\n")), (std::vector<std::uint64_t>{1, 2, 2}));
}

TEST_F(TraceTest, EpochsAreTheColumnsElseRecognised) {
  using Starts = std::vector<std::uint64_t>;
  EXPECT_EQ(read("path,bytes,epoch\na,1,3\nb,1,4\nc,1,3\nd,1,5\n").epoch_starts, (Starts{1, 3}));
  EXPECT_EQ(read("path,bytes\na,1\nb,1\nb,1\na,1\n").epoch_starts, (Starts{2}));
}

TEST_F(TraceTest, ScoresComeFromAColumnOrAFileWhichGoesFirst) {
  const std::string trace = "path,bytes,score\na,1,9\nb,1,1\na,1,2\nc,1,\n";
  AccessTrace plain = read(trace);
  EXPECT_FALSE(plain.samples[1].important);
  EXPECT_EQ(plain.samples[0].importance, 1);
  EXPECT_FALSE(plain.samples[2].scored);
  AccessTrace given = read(trace, "path,score\na,0\nunknown,3\nc,\n");
  EXPECT_FALSE(given.samples[0].important);
  EXPECT_TRUE(given.samples[1].important);
  EXPECT_FALSE(given.samples[2].scored);
  EXPECT_TRUE(read(trace, "", 0).samples[1].important);
}

TEST_F(TraceTest, RefusalsNameFileLineAndColumn) {
  EXPECT_EQ(refusal(""), "trace.csv is empty; its first line must name the columns");
  EXPECT_EQ(refusal("path,size\n"),
            "trace.csv has no column bytes; its first line must name the columns, like path,bytes");
  EXPECT_EQ(refusal("path,bytes,path\n"), "trace.csv has the column path twice; leave one out");
  EXPECT_EQ(refusal("path,bytes\n"), "trace.csv holds no access; record some, or use --generate");
  EXPECT_EQ(refusal("path,bytes\n\"two\nlines\",1\na,many\nb,2\n"),
            "trace.csv, line 4, column bytes: must be a number of bytes, got \"many\"");
  EXPECT_EQ(refusal("path,bytes\na,-1\nb,2\n"),
            "trace.csv, line 2, column bytes: must be a number of bytes, got \"-1\"");
  EXPECT_EQ(refusal("path,bytes\na,b,1\nb,2\n"),
            "trace.csv, line 2: has 3 cells where the header has 2; quote cells that hold commas");
  EXPECT_EQ(refusal("path,bytes\n,1\nb,2\n"),
            "trace.csv, line 2, column path: must be a file's path, got \"\"");
  EXPECT_EQ(refusal("path,bytes,score\na,1,nan\nb,2,\n"),
            "trace.csv, line 2, column score: must be a finite number or nothing, got \"nan\"");
  EXPECT_EQ(refusal("path,bytes\na,1\n", "path,points\na,1\n"),
            "scores.csv has no column score; its first line must name the columns, like path,bytes");
  EXPECT_NE(refusal("path,bytes\n\"a,1\nb,2\n").find("must end with a quote"), std::string::npos);
}

TEST_F(TraceTest, OnlyALastLineThatWasCutOffIsLeftOut) {
  for (const std::string cut : {"b", "b,", "\"b", "\"b\",1x"})
    EXPECT_EQ(ids(read("path,bytes\na,1\n" + cut)), (std::vector<std::uint64_t>{1})) << cut;
  EXPECT_EQ(ids(read("path,bytes\na,1\nb,2")), (std::vector<std::uint64_t>{1, 2}));
  EXPECT_NE(refusal("path,bytes\na,1\nb,\n"), "nothing was refused");
}

TEST_F(TraceTest, AFileThatIsNotThereIsTold) {
  try {
    read_trace(folder / "missing.csv", {});
    FAIL() << "nothing was refused";
  } catch (const StartupError& error) {
    const std::string sentence = error.what();
    EXPECT_NE(sentence.find("missing.csv cannot be read: No such file or directory"), std::string::npos);
  }
}

}  // namespace
}  // namespace winnow
