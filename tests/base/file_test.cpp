#include "cantilever/base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "cantilever/base/error.h"
#include "tests/support/temporary_folder.h"

namespace cantilever {
namespace {

using test::TemporaryFolder;

TEST(MappedFile, ShowsTheContentAndSurvivesAMove) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "a", "hello");
  MappedFile first(folder / "a");
  const MappedFile second = std::move(first);
  EXPECT_EQ(second.text(), "hello");
  EXPECT_TRUE(first.bytes().empty());  // NOLINT(bugprone-use-after-move): that is what is tested
}

TEST(MappedFile, EmptyFileIsAnEmptyView) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "empty", "");
  EXPECT_TRUE(MappedFile(folder / "empty").bytes().empty());
}

TEST(MappedFile, NamesPathAndReason) {
  const TemporaryFolder folder;
  for (const auto& path : {folder / "absent", folder.path()}) {
    try {
      const MappedFile file(path);
      FAIL() << path;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(path.string()), std::string::npos);
    }
  }
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  // Opening a pipe without a writer would wait for ever if it were taken for a file.
  EXPECT_THROW(MappedFile(folder / "pipe"), Error);
  EXPECT_THROW(read_file(folder / "pipe"), Error);
  EXPECT_THROW(read_file("/dev/zero"), Error);
}

TEST(AtomicFile, OldContentStaysUntilCommit) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "f", "old");
  {
    AtomicFile file(folder / "f");
    file.write("new");
    EXPECT_EQ(read_file(folder / "f"), "old");
  }
  EXPECT_EQ(read_file(folder / "f"), "old");
  EXPECT_EQ(folder.entries(), 1U) << "the abandoned temporary file is still there";
  AtomicFile file(folder / "f");
  file.write("new");
  file.commit();
  EXPECT_EQ(read_file(folder / "f"), "new");
  EXPECT_EQ(folder.entries(), 1U);
}

TEST(AtomicFile, MissingFolderIsANamedError) {
  const TemporaryFolder folder;
  EXPECT_THROW(AtomicFile(folder / "no" / "where"), Error);
}

TEST(MakeFolders, RefusesAFileInTheWay) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "file", "x");
  EXPECT_THROW(make_folders(folder / "file"), Error);
  EXPECT_THROW(make_folders(folder / "file" / "below"), Error);
  make_folders(folder / "a" / "b");
  EXPECT_TRUE(std::filesystem::is_directory(folder / "a" / "b"));
}

TEST(LfsPointer, IsNamedWithBothSizes) {
  const std::string pointer =
      "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12345\n";
  const std::string text = describe_lfs_pointer(std::as_bytes(std::span(pointer)));
  EXPECT_NE(text.find("Git LFS pointer"), std::string::npos);
  EXPECT_NE(text.find("12345 bytes"), std::string::npos);
  const std::string parquet = "PAR1";
  EXPECT_EQ(describe_lfs_pointer(std::as_bytes(std::span(parquet))), "");
}

}  // namespace
}  // namespace cantilever
