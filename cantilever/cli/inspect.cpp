#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <memory>

#include "cantilever/base/error.h"
#include "cantilever/base/file.h"
#include "cantilever/cli/flag_tables.h"
#include "cantilever/cli/output.h"
#include "cantilever/cli/row_range.h"
#include "cantilever/cli/run_commands.h"
#include "cantilever/cli/to_options.h"
#include "cantilever/data/image/png_writer.h"
#include "cantilever/data/image/transform.h"
#include "cantilever/data/text/tokenizer.h"
#include "cantilever/io/safetensors.h"
#include "cantilever/model/config.h"
#include "cantilever/train/workbench.h"

namespace cantilever {
namespace {

namespace fs = std::filesystem;
using enum FlagType;

FlagGroup inspect_flags() {
  return {
      "Inspect",
      {
          own("output_dir", kString, "null", "Folder for the pictures and tensors."),
          own("model_name_or_path", kString, "null",
              "Model folder; without one only the decoded picture is written."),
          own("tokenizer_name", kString, "null", "Folder of the tokenizer, if not the model's."),
          own("image_processor_name", kString, "null",
              "Folder of preprocessor_config.json, if not the model's."),
          own("split", kString, "\"train\"", "Split of the data set."),
          own("rows", kString, "\"0:8\"", "Rows of the split: 0:4, 7, or 0:4,7 (ends excluded)."),
          own("image", kStrings, "[]", "Picture files instead of a data set.").accumulating(),
          own("text", kStrings, "[]",
              "Captions, one for each --image (or alone); - reads one JSON string a line from "
              "standard input.")
              .accumulating(),
      }};
}

const FlagTable& flags() {
  static const FlagTable table({inspect_flags(), data_flags(), pixel_flags(), common_flags()});
  return table;
}

// One thing to look at. What cannot be had is a reason instead.
struct Item {
  int64_t row = 0;
  std::string file;
  std::optional<std::string> caption;
  std::span<const std::byte> encoded;
  std::shared_ptr<const void> owner;
  ImageKind kind = ImageKind::kPath;
  bool has_image = false;
  std::string reason;  // not empty: bad already
};

// What the model folder says about pictures and captions.
struct ModelSide {
  std::shared_ptr<const Tokenizer> tokenizer;
  TransformOptions transform;
  int64_t max_seq_length = 128;
};

class Inspector {
 public:
  explicit Inspector(const FlagValues& values) : folder_(values.text("output_dir")) {
    if (folder_.empty()) throw UsageError("--output_dir is missing: where should the pictures go?");
    exif_ = exif_orientation(values);
    max_pixels_ = values.get<int64_t>("max_image_pixels");
    semantics_ = parse_pixel_semantics(values.text("pixel_semantics"));
    if (!values.text("model_name_or_path").empty()) open_model(values);
    make_folders(folder_);
  }

  // Prints one line; false when the item is bad.
  bool inspect(const Item& item) {
    Json line = Json::object();
    line["row"] = item.row;
    line["file"] = item.file.empty() ? Json(nullptr) : Json(item.file);
    line["status"] = "ok";
    for (const char* key : {"reason", "width", "height", "mode", "decoded", "seen", "pixels"}) {
      line[key] = nullptr;
    }
    line["caption"] = item.caption ? Json(*item.caption) : Json(nullptr);
    for (const char* key : {"input_ids", "pieces", "truncated"}) line[key] = nullptr;
    std::string reason = item.reason;
    try {
      if (item.caption) tell_caption(*item.caption, line);
      if (item.has_image && reason.empty()) tell_image(item, line);
    } catch (const Error& error) {
      reason = error.what();
    }
    if (!reason.empty()) {
      line["status"] = "bad";
      line["reason"] = reason;
    }
    print(dump_json(line, -1) + "\n");
    return reason.empty();
  }

 private:
  void open_model(const FlagValues& values) {
    const fs::path model = values.text("model_name_or_path");
    const auto folder_or = [&](const char* name) {
      return values.text(name).empty() ? model : fs::path(values.text(name));
    };
    side_ = std::make_unique<ModelSide>();
    side_->transform.side =
        static_cast<int>(BridgeTowerConfig::from_folder(model).vision_config.image_size);
    const Preprocessor processor = Preprocessor::from_folder(folder_or("image_processor_name"));
    side_->transform.mean = processor.mean;
    side_->transform.std = processor.std;
    side_->tokenizer = Tokenizer::from_folder(folder_or("tokenizer_name"));
    side_->max_seq_length = values.get<int64_t>("max_seq_length");
  }

  void tell_caption(const std::string& caption, Json& line) const {
    if (!side_) return;
    bool truncated = false;
    const auto ids = side_->tokenizer->encode(caption, side_->max_seq_length, &truncated);
    line["input_ids"] = ids;
    Json pieces = Json::array();
    for (const int32_t id : ids) pieces.push_back(side_->tokenizer->piece(id));
    line["pieces"] = std::move(pieces);
    line["truncated"] = truncated;
  }

  void tell_image(const Item& item, Json& line) {
    DecodeOptions options;
    options.max_pixels = max_pixels_;
    options.apply_exif_orientation =
        exif_ == ExifOrientation::kOn ||
        (exif_ == ExifOrientation::kAuto && item.kind == ImageKind::kImageFeature);
    const DecodedImage image = decode_image(item.encoded, options);
    line["width"] = image.width;
    line["height"] = image.height;
    line["mode"] = image.mode;
    const std::string decoded = concat(item.row, ".decoded.png");
    write_png(folder_ / decoded, image.view());
    line["decoded"] = decoded;
    if (side_) tell_pixels(item, image, line);
  }

  void tell_pixels(const Item& item, const DecodedImage& image, Json& line) {
    TransformOptions options = side_->transform;
    options.semantics = resolve(semantics_, item.kind == ImageKind::kPath);
    const auto side = static_cast<size_t>(options.side);
    std::vector<float> pixels(3 * side * side);
    transform_image(image.view(), options, scratch_, pixels);

    const std::string seen = concat(item.row, ".seen.png");
    write_seen(folder_ / seen, pixels, options);
    line["seen"] = seen;
    const std::string name = concat(item.row, ".safetensors");
    TensorView view;
    view.name = "pixel_values";
    view.dtype = DType::kF32;
    view.shape = {3, options.side, options.side};
    view.data = std::as_bytes(std::span<const float>(pixels));
    write_safetensors(folder_ / name, {view});
    line["pixels"] = name;
  }

  // The model's pixels as a picture again: de-normalised, clamped to what a picture can show.
  static void write_seen(const fs::path& path, const std::vector<float>& pixels,
                         const TransformOptions& options) {
    const size_t area = pixels.size() / 3;
    std::vector<uint8_t> bytes(pixels.size());
    for (size_t channel = 0; channel < 3; ++channel) {
      for (size_t i = 0; i < area; ++i) {
        const float level =
            (pixels[channel * area + i] * options.std[channel] + options.mean[channel]) * 255.0F;
        bytes[i * 3 + channel] = static_cast<uint8_t>(std::lround(std::clamp(level, 0.0F, 255.0F)));
      }
    }
    write_png(path, {bytes.data(), options.side, options.side});
  }

  fs::path folder_;
  ExifOrientation exif_ = ExifOrientation::kAuto;
  int64_t max_pixels_ = 0;
  PixelSemantics semantics_ = PixelSemantics::kReference;
  std::unique_ptr<ModelSide> side_;
  TransformScratch scratch_;
};

bool inspect_set(const FlagValues& values, Inspector& inspector) {
  const auto splits = open_splits(to_source_options(values));
  const std::string name = values.text("split");
  const auto found = splits.find(name);
  if (found == splits.end()) {
    std::string names;
    for (const auto& [split, source] : splits) names += concat(names.empty() ? "" : ", ", split);
    throw_error(
        concat("there is no ", quoted(name), " split, only ", names, "; choose with --split"));
  }
  const ExampleSource& source = *found->second;
  bool good = true;
  const std::vector<int64_t> rows = parse_rows(values.text("rows"), source.size());
  CANTILEVER_CHECK(!rows.empty(), "--rows ", values.text("rows"), " holds no row: the ",
                   quoted(name), " split has rows 0 to ", source.size() - 1);
  for (const int64_t row : rows) {
    Item item;
    item.row = row;
    item.has_image = true;
    try {
      const auto example = std::make_shared<Example>(source.get(row));
      item.file = example->image_path;
      item.caption = example->caption;
      item.encoded = example->encoded;
      item.kind = example->image_kind;
      item.owner = example;
    } catch (const Error& error) {
      item.reason = error.what();
    }
    good = inspector.inspect(item) && good;
  }
  return good;
}

// Captions as they come: words of --text, or a line at a time of standard input.
class Captions {
 public:
  explicit Captions(std::vector<std::string> words)
      : words_(std::move(words)), from_input_(words_.size() == 1 && words_[0] == "-") {
    if (!from_input_ && std::find(words_.begin(), words_.end(), "-") != words_.end()) {
      throw UsageError("--text -: standard input stands alone, not beside other captions");
    }
  }

  // False when there are no more. A line that is no JSON string gives a reason.
  bool next(Item& item) {
    if (!from_input_) {
      if (at_ == words_.size()) return false;
      item.caption = words_[at_++];
      return true;
    }
    std::string line;
    if (!std::getline(std::cin, line)) return false;
    const std::string where = concat("standard input line ", ++at_);
    try {
      const Json value = parse_json(line, where);
      CANTILEVER_CHECK(value.is_string(), where, ": ", quoted(line), " is not a JSON string");
      item.caption = value.get<std::string>();
    } catch (const Error& error) {
      item.reason = error.what();
    }
    return true;
  }

 private:
  std::vector<std::string> words_;
  bool from_input_;
  size_t at_ = 0;
};

void load_picture(const std::string& path, Item& item) {
  item.file = path;
  item.has_image = true;
  try {
    auto file = std::make_shared<MappedFile>(path);
    item.encoded = file->bytes();
    item.owner = std::move(file);
  } catch (const Error& error) {
    item.reason = error.what();
  }
}

bool inspect_files(const FlagValues& values, Inspector& inspector) {
  const std::vector<std::string> images = values.words("image");
  Captions captions(values.words("text"));
  bool good = true;
  for (int64_t row = 0;; ++row) {
    Item item;
    item.row = row;
    const bool has_image = static_cast<size_t>(row) < images.size();
    if (!captions.next(item) && !has_image) return good;
    if (has_image) load_picture(images[static_cast<size_t>(row)], item);
    good = inspector.inspect(item) && good;
  }
}

int run(const FlagValues& values) {
  const bool files = values.given("image") || values.given("text");
  const bool set = values.given("dataset_name") || values.given("train_file") ||
                   values.given("validation_file") || values.given("test_file") ||
                   values.given("train_dir") || values.given("validation_dir");
  if (files == set) {
    throw UsageError(
        "give a data set (--dataset_name, --train_file ...) or --image and --text, one "
        "of the two");
  }
  Inspector inspector(values);
  return (files ? inspect_files(values, inspector) : inspect_set(values, inspector)) ? 0 : 1;
}

}  // namespace

Command inspect_command() {
  return {"inspect",
          "Show what the model is given: decoded and transformed pictures, ids and pieces of "
          "captions, as JSON lines and files.",
          "[--model_name_or_path DIR] (--dataset_name SET | --image FILE... | --text STRING) "
          "--output_dir OUT",
          &flags, &run};
}

}  // namespace cantilever
