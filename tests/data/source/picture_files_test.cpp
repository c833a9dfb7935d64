#include "cantilever/data/source/picture_files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cantilever/base/error.h"
#include "cantilever/base/log.h"
#include "tests/data/source/table_files.h"

namespace cantilever {
namespace {

namespace fs = std::filesystem;
using test::error_of;
using test::write_text;
using testing::AllOf;
using testing::HasSubstr;

class PictureFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    set_log_level(LogLevel::kError);
    write_text(folder_ / "set/a.png", "inside");
    write_text(folder_ / "set/sub/b.png", "deeper");
    write_text(folder_ / "secret.png", "outside");
  }
  void TearDown() override { set_log_level(LogLevel::kInfo); }

  // The content of the picture, or the message of the Error.
  std::string load(const PictureFiles& files, const std::string& stored) {
    Example example;
    const std::string error =
        error_of([&] { files.load(stored, [] { return "table, row 7"; }, example); });
    return error.empty() ? test::picture_of(example) : error;
  }
  PictureFiles set(bool confine = true) {
    return {{folder_ / "set/sub", folder_ / "set"}, confine};
  }

  test::TemporaryFolder folder_;
};

TEST_F(PictureFilesTest, WhatStaysInsideIsRead) {
  const PictureFiles files = set();
  EXPECT_EQ(load(files, "b.png"), "deeper");
  EXPECT_EQ(load(files, "../a.png"), "inside");
  EXPECT_EQ(load(files, "../sub/./b.png"), "deeper");
  EXPECT_EQ(load(files, (folder_ / "set/a.png").string()), "inside");
  EXPECT_EQ(load(files, (folder_ / "set/sub/../a.png").string()), "inside");
  fs::create_symlink("../a.png", folder_ / "set/sub/relative.png");
  fs::create_symlink(folder_ / "set/a.png", folder_ / "set/sub/absolute.png");
  fs::create_directory_symlink("..", folder_ / "set/sub/up");
  EXPECT_EQ(load(files, "relative.png"), "inside");
  EXPECT_EQ(load(files, "absolute.png"), "inside");
  EXPECT_EQ(load(files, "up/a.png"), "inside");
}

TEST_F(PictureFilesTest, WhatLeavesIsRefusedUnlessAllowed) {
  fs::create_symlink("../../secret.png", folder_ / "set/sub/relative.png");
  fs::create_symlink(folder_ / "secret.png", folder_ / "set/sub/absolute.png");
  fs::create_directory_symlink(folder_.path(), folder_ / "set/sub/up");
  const PictureFiles files = set();
  const PictureFiles open = set(false);
  const fs::path beside = folder_ / "set/../secret.png";
  for (const std::string& stored :
       {std::string("../../secret.png"), std::string("relative.png"), std::string("absolute.png"),
        std::string("up/secret.png"), (folder_ / "secret.png").string(), beside.string(),
        (folder_ / "set/sub/up/secret.png").string()}) {
    EXPECT_THAT(load(files, stored),
                AllOf(HasSubstr("table, row 7"), HasSubstr(stored),
                      HasSubstr("outside " + (folder_ / "set").string()), HasSubstr("--image_root"),
                      HasSubstr("--allow_outside_paths")));
    EXPECT_EQ(load(open, stored), "outside") << stored;
  }
  // Whether something is there is not told either.
  EXPECT_THAT(load(files, "/no/such/file.png"), HasSubstr("outside"));
  EXPECT_THAT(load(files, "../../gone.png"), HasSubstr("outside"));
  EXPECT_THAT(load(open, "../../gone.png"), HasSubstr("is not there"));
  // The name of a neighbour that starts like the set's is another folder.
  write_text(folder_ / "set2/c.png", "neighbour");
  EXPECT_THAT(load(files, (folder_ / "set2/c.png").string()), HasSubstr("outside"));
}

TEST_F(PictureFilesTest, NoDetourLeads) {
  const fs::path sub = folder_ / "set/sub";
  const std::string secret = (folder_ / "secret.png").string();
  fs::create_symlink("second.png", sub / "first.png");
  fs::create_symlink("third.png", sub / "second.png");
  fs::create_symlink("../../secret.png", sub / "third.png");
  fs::create_directory_symlink("/proc/self/root", sub / "magic");
  fs::create_directory_symlink("/", sub / "slash");
  fs::create_directory_symlink(folder_ / "set", folder_ / "door");
  const int secret_folder = ::open(folder_.path().c_str(), O_PATH | O_DIRECTORY);
  ASSERT_GE(secret_folder, 0);
  const PictureFiles files = set();
  for (const std::string& stored :
       {std::string("first.png"), "magic" + secret, "slash" + secret, "/proc/self/root" + secret,
        concat("/proc/self/fd/", secret_folder, "/secret.png"),
        concat("magic/proc/self/fd/", secret_folder, "/secret.png"),
        std::string("../../door/../secret.png"), (folder_ / "door/../secret.png").string(),
        (folder_ / "set/sub//../..//secret.png").string(), "./" + secret + "\n", "//" + secret}) {
    EXPECT_THAT(load(files, stored), HasSubstr("table, row 7")) << stored;
  }
  ::close(secret_folder);
}

TEST_F(PictureFilesTest, AFolderReachedThroughALinkIsTheOneItLeadsTo) {
  fs::create_directory_symlink("set", folder_ / "door");
  fs::create_directory_symlink("set/sub", folder_ / "inner");
  write_text(folder_ / "set/sub/new\nline.png", "two lines");
  const PictureFiles door({PictureRoot{folder_ / "door/sub", folder_ / "door"}}, true);
  EXPECT_EQ(load(door, "b.png"), "deeper");
  EXPECT_EQ(load(door, "../a.png"), "inside");
  EXPECT_EQ(load(door, "new\nline.png"), "two lines");
  EXPECT_EQ(load(door, (folder_ / "set/a.png").string()), "inside");
  EXPECT_THAT(load(door, "../../secret.png"), HasSubstr("outside"));
  const PictureFiles inner(PictureRoot{folder_ / "inner", folder_ / "inner"}, true);
  EXPECT_EQ(load(inner, "b.png"), "deeper");
  EXPECT_THAT(load(inner, "../a.png"), HasSubstr("outside"));
  EXPECT_THAT(load(inner, (folder_ / "set/a.png").string()), HasSubstr("outside"));
}

// snapshots/REVISION/x -> ../../blobs/HASH, as the Hub's cache has it.
TEST_F(PictureFilesTest, LinksOfTheHubsCacheStayInTheirRepository) {
  const fs::path repository = folder_ / "datasets--a--b";
  write_text(repository / "blobs/0a1b", "blob");
  write_text(folder_ / "datasets--c--d/blobs/0a1b", "another's blob");
  fs::create_directories(repository / "snapshots/f00/data");
  fs::create_symlink("../../blobs/0a1b", repository / "snapshots/f00/x.png");
  fs::create_symlink("../../../blobs/0a1b", repository / "snapshots/f00/data/x.png");
  fs::create_symlink("../../../datasets--c--d/blobs/0a1b", repository / "snapshots/f00/y.png");
  const fs::path snapshot = repository / "snapshots/f00";
  const PictureFiles files(PictureRoot{snapshot, snapshot}, true);
  EXPECT_EQ(load(files, "x.png"), "blob");
  EXPECT_EQ(load(files, "data/x.png"), "blob");
  EXPECT_THAT(load(files, "y.png"), HasSubstr("outside"));
  EXPECT_EQ(load(PictureFiles(PictureRoot{snapshot / "data", snapshot / "data"}, true), "x.png"),
            "blob");
}

TEST_F(PictureFilesTest, WhatIsNoFileIsRefusedWithoutWaiting) {
  fs::create_directories(folder_ / "set/sub/folder.png");
  ASSERT_EQ(::mkfifo((folder_ / "set/sub/pipe.png").c_str(), 0600), 0);
  for (const bool confine : {true, false}) {
    const PictureFiles files = set(confine);
    EXPECT_THAT(load(files, "folder.png"), HasSubstr("no regular file"));
    EXPECT_THAT(load(files, "pipe.png"), HasSubstr("no regular file"));
    EXPECT_THAT(load(files, ""), HasSubstr("empty"));
    EXPECT_THAT(load(files, std::string("a\0b", 3)), HasSubstr("NUL"));
    EXPECT_THAT(load(files, "https://example.org/a.png"), HasSubstr("URL"));
    EXPECT_THAT(load(files, "gone.png"), AllOf(HasSubstr("is not there"),
                                               HasSubstr((folder_ / "set/sub/gone.png").string())));
    EXPECT_THAT(load(files, "b.png/x"), HasSubstr("is not there"));
    EXPECT_THAT(load(files, std::string(5000, 'x')), HasSubstr("cannot open"));
  }
  EXPECT_THAT(load(PictureFiles(PictureRoot{"/", "/"}, true), "dev/null"),
              HasSubstr("no regular file"));
  fs::create_symlink("loop.png", folder_ / "set/sub/loop.png");
  EXPECT_THAT(load(set(), "loop.png"), HasSubstr("symbolic link"));
}

TEST_F(PictureFilesTest, EveryPathIsInsideTheRootOfTheFileSystem) {
  const PictureFiles files(PictureRoot{"/", "/"}, true);
  EXPECT_EQ(load(files, (folder_ / "secret.png").string()), "outside");
  EXPECT_EQ(load(files, (folder_ / "secret.png").string().substr(1)), "outside");
}

TEST_F(PictureFilesTest, TheWorkingFolderIsAskedSecond) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_.path());
  const PictureFiles files(PictureRoot{"set", "set"}, true);
  EXPECT_EQ(load(files, "set/a.png"), "inside");
  EXPECT_EQ(load(files, "a.png"), "inside");
  EXPECT_THAT(load(files, "secret.png"), HasSubstr("outside set"));
  EXPECT_EQ(load(PictureFiles(PictureRoot{"set", "set"}, false), "secret.png"), "outside");
  EXPECT_EQ(load(PictureFiles(PictureRoot{".", "."}, true), "secret.png"), "outside");
  fs::current_path(before);
}

TEST_F(PictureFilesTest, SeveralRootsAreAskedInTurn) {
  write_text(folder_ / "more/c.png", "more");
  const PictureFiles files(
      {{folder_ / "set", folder_ / "set"}, {folder_ / "more", folder_ / "more"}}, true);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(load(files, "a.png"), "inside");
    EXPECT_EQ(load(files, "c.png"), "more");
  }
  EXPECT_THAT(load(files, "gone.png"), AllOf(HasSubstr("not there"), HasSubstr("more")));
  EXPECT_THAT(load(files, "../secret.png"), HasSubstr("outside"));
  EXPECT_THAT(load(PictureFiles(PictureRoot{folder_ / "none", folder_ / "none"}, true), "a.png"),
              HasSubstr("is not there"));
}

// Pictures one after the other go into the same memory.
TEST_F(PictureFilesTest, AnExampleIsUsedAgain) {
  const PictureFiles files = set();
  Example example;
  files.load("../a.png", [] { return "p"; }, example);
  files.load("b.png", [] { return "p"; }, example);
  EXPECT_EQ(test::picture_of(example), "deeper");
  EXPECT_EQ(example.image_path, (folder_ / "set/sub/b.png").string());
  write_text(folder_ / "set/empty.png", "");
  files.load("../empty.png", [] { return "p"; }, example);
  EXPECT_TRUE(example.encoded.empty());
}

}  // namespace
}  // namespace cantilever
