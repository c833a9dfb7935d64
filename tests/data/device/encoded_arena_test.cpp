#include "cantilever/data/device/encoded_arena.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/data/device/support.h"

namespace cantilever {
namespace {

using test::Bytes;

TEST(EncodedArena, HoldsPicturesOneBehindTheOther) {
  EncodedArena arena;
  for (size_t i = 0; i < 200; ++i) {
    EXPECT_EQ(arena.add(Bytes(i * 7, static_cast<std::byte>(i))), i);
  }
  ASSERT_EQ(arena.size(), 200U);
  for (size_t i = 0; i < 200; ++i) {
    const auto picture = arena.picture(i);
    EXPECT_EQ(picture.size(), i * 7);
    EXPECT_TRUE(std::all_of(picture.begin(), picture.end(),
                            [&](std::byte b) { return b == static_cast<std::byte>(i); }));
    EXPECT_EQ((picture.data() - arena.picture(0).data()) % 64, 0);
    const std::byte* behind = picture.data() + picture.size();
    EXPECT_TRUE(std::all_of(behind, behind + 64, [](std::byte b) { return b == std::byte{0}; }));
  }
}

TEST(EncodedArena, ClearedItKeepsItsMemoryAndNotItsBytes) {
  EncodedArena arena;
  arena.add(Bytes(10'000, std::byte{7}));
  const std::byte* memory = arena.picture(0).data();
  EXPECT_GE(arena.bytes(), 10'064U);
  arena.clear();
  EXPECT_EQ(arena.size(), 0U);
  EXPECT_EQ(arena.bytes(), 0U);
  EXPECT_EQ(arena.add(Bytes(100, std::byte{8})), 0U);
  EXPECT_EQ(arena.picture(0).data(), memory);
  EXPECT_EQ(memory[100], std::byte{0}) << "read-ahead sees the old picture";
}

TEST(EncodedArena, NoSuchPictureIsOurMistake) {
  EncodedArena arena;
  arena.add({});
  EXPECT_EQ(arena.picture(0).size(), 0U);
  EXPECT_THROW(arena.picture(1), InternalError);
}

}  // namespace
}  // namespace cantilever
