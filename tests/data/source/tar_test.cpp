#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "cantilever/base/error.h"
#include "cantilever/base/log.h"
#include "cantilever/data/source/tar_reader.h"
#include "tests/data/source/table_files.h"
#include "tests/data/source/tar_files.h"

namespace cantilever {
namespace {

using test::error_of;
using test::pax_header;
using test::pax_record;
using test::source_options;
using test::tar_end;
using test::tar_header;
using test::tar_member;
using test::TarStyle;
using test::write_text;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string gzip(const std::string& text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(text.size() + 1000, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

class Tar : public testing::Test {
 protected:
  void SetUp() override { set_log_level(LogLevel::kError); }
  void TearDown() override { set_log_level(LogLevel::kInfo); }

  std::shared_ptr<ExampleSource> open(const std::string& content,
                                      const SourceOptions& options = source_options(),
                                      const std::string& name = "shard.tar") {
    return open_source(write_text(folder_ / name, content), options);
  }
  std::string refuse(const std::string& content) {
    return error_of([&] { open(content); });
  }
  static std::vector<std::string> names(const std::string& archive) {
    TarReader reader(archive, "x.tar");
    TarMember member;
    std::vector<std::string> found;
    while (reader.next(member)) {
      found.push_back(member.name + "=" + archive.substr(member.begin, member.size));
    }
    return found;
  }

  test::TemporaryFolder folder_;
};

TEST_F(Tar, HeadersOfEveryKind) {
  const std::string deep = "a/" + std::string(70, 'd') + "/" + std::string(70, 'e') + "/n.jpg";
  const std::string prefix = deep.substr(0, deep.rfind('/'));
  const std::string hundred(100, 'h');
  const std::string wide = "caf\xc3\xa9/" + std::string(300, 'w') + ".png";
  EXPECT_THAT(names(tar_member("v7.txt", "1", TarStyle::kV7) + tar_end()), ElementsAre("v7.txt=1"));
  EXPECT_THAT(names(tar_member("gnu.txt", "22", TarStyle::kGnu) + tar_end()),
              ElementsAre("gnu.txt=22"));
  EXPECT_THAT(names(tar_header("n.jpg", 1, '0', TarStyle::kUstar, "", prefix) + test::padded("x") +
                    tar_member(hundred, "y") + tar_end()),
              ElementsAre(deep + "=x", hundred + "=y"));
  // GNU keeps other things where ustar has the prefix.
  EXPECT_THAT(names(tar_header("n.jpg", 1, '0', TarStyle::kGnu, "", "12345") + test::padded("x")),
              ElementsAre("n.jpg=x"));
  const std::string long_name = tar_header("././@LongLink", wide.size() + 1, 'L', TarStyle::kGnu) +
                                test::padded(wide + std::string(1, '\0'));
  EXPECT_THAT(names(long_name + tar_member(wide.substr(0, 100), "z", TarStyle::kGnu) +
                    tar_member("next.txt", "n", TarStyle::kGnu)),
              ElementsAre(wide + "=z", "next.txt=n"));
  EXPECT_THAT(names(pax_header(pax_record("mtime", "1.5") + pax_record("path", wide)) +
                    tar_member("short.png", "p") + tar_member("next.txt", "n")),
              ElementsAre(wide + "=p", "next.txt=n"));
  EXPECT_THAT(names(pax_header(pax_record("size", "3")) + tar_header("s.txt", 0) +
                    test::padded("abc") + tar_member("next.txt", "n")),
              ElementsAre("s.txt=abc", "next.txt=n"));
  EXPECT_THAT(names(tar_header("g", 30, 'g') + test::padded(pax_record("comment", "0123456789")) +
                    tar_header("folder/", 0, '5') + tar_member("a.txt", "") + tar_end() +
                    tar_member("behind the end.txt", "x")),
              ElementsAre("folder/=", "a.txt="));
}

// Archives beyond 8 GiB and members beyond 2 GiB, in a file with holes.
TEST_F(Tar, MembersOfManyGigabytes) {
  const uint64_t big = (uint64_t{9} << 30) + 5;
  const std::filesystem::path path = folder_ / "big.tar";
  {
    std::ofstream out(path, std::ios::binary);
    out << tar_header("0.jpg", big, '0', TarStyle::kGnu);
    out.seekp(static_cast<int64_t>(512 + (big + 511) / 512 * 512));
    out << tar_member("0.txt", "caption of nine gigabytes") << tar_member("1.png", "small")
        << tar_member("1.txt", "caption of five bytes") << tar_end();
  }
  const auto source = open_source(path, source_options());
  ASSERT_EQ(source->size(), 2);
  EXPECT_EQ(source->caption(0), "caption of nine gigabytes");
  EXPECT_EQ(source->get(0).encoded.size(), big);
  EXPECT_EQ(test::picture_of(source->get(1)), "small");
}

TEST_F(Tar, SamplesByKey) {
  const auto source =
      open(tar_member("a/b.c/0001.JPG", "picture") + tar_member("a/b.c/0001.txt", "one") +
           tar_member("2.seg.png", "mask") + tar_member("2.png", "second") +
           tar_member("2.json", R"({"text": "from json", "key": "2"})") +
           tar_member("README", "no") + tar_member(".hidden.txt", "no") + tar_member("3.cls", "7") +
           tar_member("3.webp", "third") + tar_member("4.txt", "no picture") +
           tar_member("3.txt", "apart from its picture") + tar_end());
  ASSERT_EQ(source->size(), 4);
  Example example;
  source->read(0, 0, example);
  EXPECT_EQ(example.caption, "one");
  EXPECT_EQ(test::picture_of(example), "picture");
  EXPECT_EQ(example.image_kind, ImageKind::kImageFeature);
  EXPECT_THAT(example.image_path, HasSubstr("shard.tar/a/b.c/0001.JPG"));
  source->read(1, 0, example);
  EXPECT_EQ(example.caption, "from json");
  EXPECT_EQ(test::picture_of(example), "second");
  EXPECT_EQ(source->get(2).caption, "apart from its picture");
  EXPECT_EQ(source->caption(3), "no picture");
  EXPECT_THAT(error_of([&] { source->get(3); }),
              AllOf(HasSubstr("shard.tar/4.txt"), HasSubstr("no picture")));
  EXPECT_THAT(source->description(), HasSubstr("1 without a picture"));
  EXPECT_THROW(source->get(4), Error);
}

TEST_F(Tar, ColumnsNameExtensionsAndKeys) {
  const std::string archive =
      tar_member("0.jpg", "a jpg") + tar_member("0.seg.png", "a mask") +
      tar_member("0.txt", "from txt") + tar_member("0.blip.txt", "from blip") +
      tar_member("0.json", R"({"caption": "by key", "title": "t", "many": ["x", "y", "z"]})");
  const auto read = [&](const std::string& image, const std::string& caption, uint64_t draw = 0) {
    Example example;
    open(archive, source_options(image, caption))->read(0, draw, example);
    return test::picture_of(example) + " " + example.caption;
  };
  EXPECT_EQ(read("image_path", "caption"), "a jpg from txt");
  EXPECT_EQ(read("seg.png", "blip.txt"), "a mask from blip");
  EXPECT_EQ(read("jpg", "json"), "a jpg by key");
  EXPECT_EQ(read("image", "title"), "a jpg t");
  EXPECT_EQ(read("image", "many", 4), "a jpg y");
  EXPECT_EQ(open(archive, source_options("image", "many"))->caption_count(0), 3);
  EXPECT_THAT(error_of([&] { open(archive, source_options("webp")); }),
              AllOf(HasSubstr("'webp'"), HasSubstr("seg.png (1)")));
  SourceOptions all = source_options("image", "many");
  all.caption_choice = CaptionChoice::kAll;
  const auto expanded = open(archive, all);
  ASSERT_EQ(expanded->size(), 3);
  EXPECT_EQ(expanded->get(2).caption, "z");
}

TEST_F(Tar, SameExtensionTwiceIsRefused) {
  EXPECT_THAT(
      refuse(tar_member("x/0.jpg", "a") + tar_member("x/0.txt", "b") + tar_member("x/0.TXT", "c")),
      AllOf(HasSubstr("shard.tar"), HasSubstr("'x/0'"), HasSubstr("'txt'")));
  write_text(folder_ / "two/0.tar", tar_member("0.jpg", "a") + tar_member("0.txt", "b"));
  write_text(folder_ / "two/1.tar", tar_member("0.jpg", "c") + tar_member("0.txt", "d"));
  const auto source = open_source(folder_ / "two", source_options());
  ASSERT_EQ(source->size(), 2);
  EXPECT_EQ(source->caption(1), "d");
}

// The extensions of a sample are searched at every member: they may not grow without end.
TEST_F(Tar, ASampleOfVeryManyMembersIsRefused) {
  std::string archive = tar_member("0.jpg", "a");
  for (int i = 0; i < 2000; ++i) archive += tar_header(concat("0.e", i), 0);
  EXPECT_THAT(refuse(archive), AllOf(HasSubstr("'0'"), HasSubstr("too many members")));
}

TEST_F(Tar, LinksAreNotFollowed) {
  const auto source = open(tar_header("0.jpg", 0, '2', TarStyle::kUstar, "/etc/hostname") +
                           tar_member("0.txt", "link") +
                           tar_header("1.png", 0, '1', TarStyle::kUstar, "../../etc/passwd") +
                           tar_member("1.txt", "hard link") + tar_member("2.png", "picture") +
                           tar_member("2.txt", "good") + tar_end());
  ASSERT_EQ(source->size(), 3);
  for (int row : {0, 1}) {
    EXPECT_THAT(error_of([&] { source->get(row); }), HasSubstr("not followed"));
  }
  EXPECT_EQ(test::picture_of(source->get(2)), "picture");
}

TEST_F(Tar, DamagedArchivesAreNamedWithTheOffset) {
  const std::string good = tar_member("0.jpg", std::string(700, 'p')) + tar_member("0.txt", "t");
  EXPECT_EQ(refuse(good), "");
  EXPECT_THAT(refuse(""), HasSubstr("empty"));
  EXPECT_THAT(refuse("short"), HasSubstr("not a tar archive"));
  EXPECT_THAT(refuse(std::string(2048, 'x')), HasSubstr("not a tar archive"));
  EXPECT_THAT(refuse(std::string(2048, '\0')), HasSubstr("no rows"));
  EXPECT_THAT(refuse(good.substr(0, 1000)), AllOf(HasSubstr("cut off"), HasSubstr("'0.jpg'"),
                                                  HasSubstr("claims 700 bytes, only 488")));
  EXPECT_THAT(refuse(good.substr(0, 1700)), AllOf(HasSubstr("cut off at byte 1536")));
  EXPECT_THAT(refuse(good.substr(0, 1536) + std::string(512, 'x')),
              AllOf(HasSubstr("byte 1536"), HasSubstr("checksum"), HasSubstr("'0.jpg'")));
  std::string flipped = good;
  flipped[3] ^= 1;
  EXPECT_THAT(refuse(flipped), HasSubstr("checksum"));
  EXPECT_THAT(refuse(tar_header("s.jpg", 0, 'S', TarStyle::kGnu)),
              AllOf(HasSubstr("'s.jpg'"), HasSubstr("sparse")));
  EXPECT_THAT(refuse(pax_header(pax_record("GNU.sparse.major", "1")) + tar_member("s.jpg", "")),
              HasSubstr("sparse"));
  EXPECT_THAT(refuse(tar_header("m.jpg", 0, 'M', TarStyle::kGnu)), HasSubstr("volume"));
  EXPECT_THAT(refuse(tar_header("big.jpg", ~uint64_t{0} >> 1)), HasSubstr("cut off"));
  EXPECT_THAT(refuse(tar_header("L", uint64_t{1} << 40, 'L', TarStyle::kGnu)),
              HasSubstr("cut off"));
  EXPECT_THAT(refuse("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"),
              HasSubstr("LFS pointer"));
  for (const std::string& record :
       {std::string("99 path=x\n"), std::string("x path=y\n"), std::string("9 path\n"),
        std::string("10 path=xyz"), pax_record("size", "-5"), pax_record("size", "1e3")}) {
    EXPECT_THAT(refuse(pax_header(record) + tar_member("0.jpg", "")), HasSubstr("damaged"))
        << record;
  }
  // Numbers that are none, or negative, in a header with a right checksum.
  for (const std::string& size : {std::string("zzzzzzzzzzz"), std::string(12, '\xff')}) {
    std::string header = tar_header("0.jpg", 0);
    header.replace(124, size.size(), size);
    test::set_checksum(header);
    EXPECT_THAT(refuse(header), HasSubstr("no number"));
  }
}

// Whatever stands in an archive, it is read or refused; sanitizers watch.
TEST_F(Tar, EveryByteMayBeAnother) {
  const std::string good = pax_header(pax_record("path", "long/0.jpg")) +
                           tar_member("0.jpg", "picture") +
                           tar_member("long/0.json", R"({"caption": "c"})") + tar_end();
  for (size_t at = 0; at < good.size(); at += at % 512 < 350 ? 1 : 37) {
    for (const char byte : {'\0', '9', '\x80', '\xff'}) {
      std::string changed = good;
      changed[at] = byte;
      if (at % 1024 < 512) {
        std::string header = changed.substr(at / 512 * 512, 512);
        test::set_checksum(header);
        changed.replace(at / 512 * 512, 512, header);
      }
      TarReader reader(changed, "x.tar");
      TarMember member;
      error_of([&] {
        while (reader.next(member)) {
          ASSERT_LE(member.begin, changed.size());
          ASSERT_LE(member.size, changed.size() - member.begin);
        }
      });
    }
  }
}

TEST_F(Tar, CompressedArchivesAndMembers) {
  const std::string archive =
      tar_member("0.png", "picture") + tar_member("0.txt.gz", gzip("packed caption")) +
      tar_member("1.png", "other") +
      tar_member("1.json.gz", gzip(R"({"caption": "packed json"})")) + tar_end();
  for (const std::string name : {"x.tar", "x.tar.gz", "x.tgz"}) {
    const auto source = open(name == "x.tar" ? archive : gzip(archive), source_options(), name);
    ASSERT_EQ(source->size(), 2) << name;
    EXPECT_EQ(source->get(0).caption, "packed caption");
    EXPECT_EQ(source->get(1).caption, "packed json");
    EXPECT_EQ(test::picture_of(source->get(1)), "other");
  }
  const std::string packed = gzip(archive);
  EXPECT_THAT(
      error_of([&] { open(packed.substr(0, packed.size() / 2), source_options(), "c.tgz"); }),
      AllOf(HasSubstr("c.tgz"), HasSubstr("cut off")));
  std::string damaged = packed;
  damaged[packed.size() / 2] ^= 0x55;
  EXPECT_THAT(error_of([&] { open(damaged, source_options(), "d.tgz"); }), HasSubstr("d.tgz"));
  // 304 MiB of zeros in 300 KB.
  const std::string member = gzip(std::string(size_t{16} << 20, '\0'));
  std::string bomb;
  for (int i = 0; i < 19; ++i) bomb += member;
  EXPECT_THAT(error_of([&] { open(bomb, source_options(), "b.tgz"); }),
              AllOf(HasSubstr("256 MiB"), HasSubstr("gunzip")));
  EXPECT_THAT(error_of([&] { open("\x28\xb5\x2f\xfd" + archive, source_options(), "z.tar"); }),
              HasSubstr("zstd"));
}

TEST_F(Tar, ShardsByBracesWildcardsAndFolders) {
  for (int i = 8; i < 12; ++i) {
    const std::string number = (i < 10 ? "0000" : "000") + std::to_string(i);
    write_text(folder_ / "s" / (number + ".tar"),
               tar_member(number + ".jpg", "p") + tar_member(number + ".txt", number));
  }
  const auto captions = [&](const std::string& path) {
    const auto source = open_source(folder_ / path, source_options());
    std::vector<std::string> all;
    for (int64_t row = 0; row < source->size(); ++row) all.push_back(source->caption(row));
    return all;
  };
  EXPECT_THAT(captions("s/{00008..00010}.tar"), ElementsAre("00008", "00009", "00010"));
  EXPECT_THAT(captions("s/{00011,00009}.tar"), ElementsAre("00011", "00009"));
  EXPECT_THAT(captions("s/000?[0-1].tar"), ElementsAre("00010", "00011"));
  EXPECT_THAT(captions("s/0001*.tar"), ElementsAre("00010", "00011"));
  EXPECT_THAT(captions("s"), ElementsAre("00008", "00009", "00010", "00011"));
  EXPECT_THAT(error_of([&] { captions("s/{00010..00013}.tar"); }),
              AllOf(HasSubstr("00012.tar"), HasSubstr("1 others")));
  SourceOptions options = source_options();
  options.train_file = (folder_ / "s/{00008..00009}.tar").string();
  options.validation_file =
      (folder_ / "s/00010.tar").string() + "::" + (folder_ / "s/00011.tar").string();
  const auto splits = open_splits(options);
  EXPECT_EQ(splits.at("train")->size(), 2);
  EXPECT_EQ(splits.at("validation")->size(), 2);
}

}  // namespace
}  // namespace cantilever
