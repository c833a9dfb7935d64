#include "cantilever/io/weights.h"

#include "cantilever/io/json.h"
#include "cantilever/io/safetensors.h"
#include "tests/io/support.h"

namespace cantilever {
namespace {

using namespace testing_io;
using ::testing::AllOf;
using ::testing::HasSubstr;

class WeightsTest : public ::testing::Test {
 protected:
  void shard(const std::string& file, const std::map<std::string, float>& values) {
    std::vector<TensorView> tensors;
    for (const auto& [name, value] : values) {
      tensors.push_back({name, DType::kF32, {1}, std::as_bytes(std::span(&value, 1))});
    }
    write_safetensors(folder_.path() / file, tensors);
  }
  void index(const Json& map, const std::string& name = "model.safetensors.index.json") {
    write_json(folder_.path() / name, {{"metadata", {{"total_size", 8}}}, {"weight_map", map}});
  }
  float value(const WeightFile& file, const std::string& name) {
    const TensorView* tensor = file.find(name);
    EXPECT_NE(tensor, nullptr) << name;
    return tensor == nullptr ? 0 : values_of<float>(*tensor).at(0);
  }
  std::string error() {
    const std::string message = error_of([&] { open_weights(folder_.path()); });
    EXPECT_THAT(message, HasSubstr(folder_.path().string()));
    return message;
  }

  TemporaryFolder folder_;
};

TEST_F(WeightsTest, FilesOfAFolderInTheirOrder) {
  EXPECT_THAT(error(), AllOf(HasSubstr("model.safetensors"), HasSubstr("pytorch_model.bin"),
                             HasSubstr("pytorch_model.bin.index.json")));
  fs::copy_file(golden("protocol4.bin"), folder_.path() / "part.bin");
  index({{"a", "part.bin"}, {"b", "part.bin"}}, "pytorch_model.bin.index.json");
  EXPECT_EQ(open_weights(folder_.path())->tensors().size(), 2u);
  fs::copy_file(golden("state_dict.bin"), folder_.path() / "pytorch_model.bin");
  EXPECT_EQ(open_weights(folder_.path())->tensors().size(), 24u);
  shard("one.safetensors", {{"x", 1.0f}});
  index({{"x", "one.safetensors"}});
  EXPECT_EQ(value(*open_weights(folder_.path()), "x"), 1.0f);
  shard("model.safetensors", {{"y", 2.0f}});
  EXPECT_EQ(value(*open_weights(folder_.path()), "y"), 2.0f);
  EXPECT_EQ(value(*open_weights(folder_.path() / "one.safetensors"), "x"), 1.0f);
  EXPECT_EQ(value(*open_weights(folder_.path() / "model.safetensors.index.json"), "x"), 1.0f);
}

TEST_F(WeightsTest, OneFileByItsName) {
  EXPECT_THAT(error_of([&] { open_weights(folder_.path() / "none.bin"); }),
              AllOf(HasSubstr("none.bin"), HasSubstr("no such file")));
  EXPECT_THAT(error_of([&] { open_weights(folder_.file("model.onnx", "x")); }),
              HasSubstr("'.onnx'"));
  const std::string text = slurp(golden("state_dict.safetensors"));
  EXPECT_THAT(error_of([&] { open_weights(folder_.file("pytorch_model.bin", text)); }),
              HasSubstr("looks like a safetensors file"));
}

TEST_F(WeightsTest, ShardsAreOneFile) {
  shard("a.safetensors", {{"x", 1.0f}, {"both", 2.0f}, {"extra", 3.0f}});
  shard("b.safetensors", {{"y", 4.0f}, {"both", 5.0f}});
  index({{"y", "b.safetensors"}, {"x", "a.safetensors"}, {"both", "b.safetensors"}});
  const auto file = open_weights(folder_.path());
  std::vector<std::string> names;
  for (const TensorView& tensor : file->tensors()) names.push_back(tensor.name);
  EXPECT_EQ(names, (std::vector<std::string>{"both", "extra", "x", "y"}));
  EXPECT_EQ(value(*file, "x"), 1.0f);
  EXPECT_EQ(value(*file, "y"), 4.0f);
  EXPECT_EQ(value(*file, "both"), 5.0f);
  EXPECT_EQ(value(*file, "extra"), 3.0f);
  EXPECT_EQ(file->metadata().at("format"), "pt");
  EXPECT_THAT(file->description(), HasSubstr("2 shards"));
}

TEST_F(WeightsTest, MissingShardsAndTensors) {
  shard("a.safetensors", {{"x", 1.0f}});
  index({{"x", "a.safetensors"}, {"y", "b.safetensors"}, {"z", "c.safetensors"}});
  EXPECT_THAT(error(), AllOf(HasSubstr("2 of 3 shards"), HasSubstr("'b.safetensors'"),
                             HasSubstr("'c.safetensors'")));
  index({{"x", "a.safetensors"}, {"y", "a.safetensors"}});
  EXPECT_THAT(error(), AllOf(HasSubstr("'y'"), HasSubstr("'a.safetensors'")));
  folder_.file("b.safetensors", "version https://git-lfs.github.com/spec/v1\nsize 5\n");
  index({{"x", "a.safetensors"}, {"y", "b.safetensors"}});
  EXPECT_THAT(error(), AllOf(HasSubstr("b.safetensors"), HasSubstr("Git LFS")));
}

TEST_F(WeightsTest, ShardsOutsideTheFolderAreRefused) {
  shard("a.safetensors", {{"x", 1.0f}});
  const std::string absolute = (folder_.path() / "a.safetensors").string();
  for (const std::string& name :
       {std::string("../a.safetensors"), std::string("sub/../../a.safetensors"), absolute,
        std::string(), std::string("a.safetensors\0", 14), std::string("..")}) {
    index({{"x", name}});
    EXPECT_THAT(error(), AllOf(HasSubstr("'x'"), HasSubstr("refused"))) << name;
  }
  index({{"x", "model.safetensors.index.json"}});
  EXPECT_THAT(error(), HasSubstr("not a weight file"));
}

TEST_F(WeightsTest, AnIndexInASubfolderOfShards) {
  fs::create_directories(folder_.path() / "shards");
  shard("shards/a.safetensors", {{"x", 1.0f}});
  index({{"x", "shards/a.safetensors"}});
  EXPECT_EQ(value(*open_weights(folder_.path()), "x"), 1.0f);
}

TEST_F(WeightsTest, OddIndexes) {
  const std::string name = "model.safetensors.index.json";
  for (const char* text : {"[]", "{}", "{\"weight_map\":[]}", "{\"weight_map\":{}}", "7"}) {
    folder_.file(name, text);
    EXPECT_THAT(error(), HasSubstr("not an index of shards")) << text;
  }
  folder_.file(name, "{\"weight_map\":{\"x\":7}}");
  EXPECT_THAT(error(), AllOf(HasSubstr("'x'"), HasSubstr("'7'")));
  folder_.file(name, "{");
  EXPECT_THAT(error(), HasSubstr("not valid JSON"));
}

}  // namespace
}  // namespace cantilever
