#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>

#include "cantilever/base/error.h"
#include "cantilever/base/file.h"
#include "cantilever/base/log.h"
#include "cantilever/base/progress.h"
#include "cantilever/cli/cpus.h"
#include "cantilever/cli/flag_tables.h"
#include "cantilever/cli/output.h"
#include "cantilever/cli/ranking.h"
#include "cantilever/cli/run_commands.h"
#include "cantilever/cli/to_options.h"
#include "cantilever/data/image/canvas.h"
#include "cantilever/data/image/png_writer.h"
#include "cantilever/train/embedder.h"
#include "cantilever/train/retrieval.h"
#include "cantilever/train/workbench.h"

namespace cantilever {
namespace {

namespace fs = std::filesystem;
using enum FlagType;

FlagGroup search_flags() {
  return {
      "Search",
      {
          own("output_dir", kString, "null",
              "Folder for search_results.json and contact_sheet.png."),
          own("model_name_or_path", kString, "null", "Model folder."),
          own("tokenizer_name", kString, "null", "Folder of the tokenizer, if not the model's."),
          own("image_processor_name", kString, "null",
              "Folder of preprocessor_config.json, if not the model's."),
          own("split", kString, "\"test\"", "Split to search in.")
              .one_of({"train", "validation", "test"}),
          own("query", kStrings, "[]", "Texts to find pictures for.").accumulating(),
          own("query_image", kStrings, "[]", "Picture files to find captions for.").accumulating(),
          own("queries", kInt, "0",
              "Also the captions of the first N rows, whose picture is known.")
              .at_least(0),
          own("top_k", kInt, "5", "Answers to show for a query.")
              .at_least(1)
              .at_most(kLargestCount),
          own("per_device_eval_batch_size", kInt, "32", "Pairs in a batch.")
              .at_least(1)
              .at_most(kLargestCount),
          on_bad_sample_flag(),
          own("dataloader_num_workers", kInt, "0",
              "Threads that decode and tokenise; auto: as many as help.")
              .or_word("auto")
              .at_least(0)
              .at_most(kMostThreads),
          own("seed", kInt, "42", "Of the 60/20/20 cut of a set without splits.").at_least(0),
      }};
}

const FlagTable& flags() {
  static const FlagTable table({search_flags(), data_flags(), pixel_flags(), common_flags()});
  return table;
}

// Texts with one grey picture, or pictures with an empty text, so that the embedder, which takes
// pairs, embeds the side that matters.
class QuerySource : public ExampleSource {
 public:
  explicit QuerySource(std::vector<std::string> texts) : texts_(std::move(texts)) {
    const std::vector<uint8_t> grey(3 * kSide * kSide, 128);
    auto png = std::make_shared<std::vector<std::byte>>(encode_png({grey.data(), kSide, kSide}));
    pictures_.assign(texts_.size(), {"", {png, std::span<const std::byte>(*png)}});
  }

  static std::shared_ptr<QuerySource> of_files(const std::vector<std::string>& files) {
    auto source = std::make_shared<QuerySource>(std::vector<std::string>(files.size()));
    for (size_t i = 0; i < files.size(); ++i) {
      auto file = std::make_shared<MappedFile>(files[i]);
      source->pictures_[i] = {files[i], {file, file->bytes()}};
    }
    return source;
  }

  int64_t size() const override { return static_cast<int64_t>(texts_.size()); }
  void read_caption(int64_t row, uint64_t, std::string& caption) const override {
    caption = texts_[static_cast<size_t>(row)];
  }
  std::string description() const override { return "queries"; }
  uint64_t fingerprint() const override { return 0; }  // never cached
  void read(int64_t row, uint64_t, Example& example) const override {
    const Picture& picture = pictures_[static_cast<size_t>(row)];
    example.row = row;
    read_caption(row, 0, example.caption);
    example.image_kind = ImageKind::kPath;
    example.image_path = picture.path;
    example.owner = picture.content.first;
    example.encoded = picture.content.second;
  }

 private:
  static constexpr int kSide = 8;
  struct Picture {
    std::string path;
    std::pair<std::shared_ptr<const void>, std::span<const std::byte>> content;
  };

  std::vector<std::string> texts_;
  std::vector<Picture> pictures_;
};

struct Query {
  std::string text;  // or the file of a picture
  int64_t row = -1;  // of the split; -1: from outside
  Ranking ranking;
};

class Searcher {
 public:
  explicit Searcher(const FlagValues& values) : top_k_(values.get<int64_t>("top_k")) {
    const std::string split = values.text("split");
    const TrainOptions options = to_search_options(values, split);
    bench_ = open_workbench(options, {});
    source_ = bench_.split(split);
    loader_ = loader_options(options, bench_, /*training=*/false);
  }

  void embed() {
    std::unique_ptr<Progress> bar;
    split_ = embed_split(*bench_.model, source_, bench_.tokenizer, loader_,
                         [&bar](int64_t done, int64_t total) {
                           if (!bar) bar = std::make_unique<Progress>("embedding", total);
                           bar->update(done);
                         });
    if (bar) bar->finish();
    if (!split_.bad_samples.empty()) {
      log_warning(concat(split_.bad_samples.size(),
                         " rows could not be used and were replaced, the first is row ",
                         split_.bad_samples.front().row, ": ", split_.bad_samples.front().reason));
    }
  }

  RetrievalMetrics metrics() const {
    return measure_retrieval(split_.text, split_.image, split_.caption_ids, split_.image_ids);
  }

  std::vector<Query> caption_queries(int64_t count) const {
    if (count > source_->size()) {
      log_warning(concat("--queries ", count, ": the split has only ", source_->size(), " rows"));
    }
    std::vector<Query> queries;
    for (int64_t row = 0; row < std::min(count, source_->size()); ++row) {
      if (row_of(row) != row) continue;  // replaced: it has no picture and caption of its own
      queries.push_back(
          {source_->caption(row), row,
           rank_gallery(split_.text[row], split_.image, split_.image_ids,
                        partners(split_.caption_ids, split_.image_ids, row), top_k_)});
    }
    return queries;
  }

  std::vector<Query> text_queries(const std::vector<std::string>& texts) {
    std::vector<Query> queries;
    if (texts.empty()) return queries;
    const at::Tensor embedded = embed_queries(std::make_shared<QuerySource>(texts)).text;
    for (size_t i = 0; i < texts.size(); ++i) {
      queries.push_back({texts[i], -1,
                         rank_gallery(embedded[static_cast<int64_t>(i)], split_.image,
                                      split_.image_ids, {}, top_k_)});
    }
    return queries;
  }

  std::vector<Query> image_queries(const std::vector<std::string>& files) {
    std::vector<Query> queries;
    if (files.empty()) return queries;
    const at::Tensor embedded = embed_queries(QuerySource::of_files(files)).image;
    for (size_t i = 0; i < files.size(); ++i) {
      queries.push_back({files[i], -1,
                         rank_gallery(embedded[static_cast<int64_t>(i)], split_.text,
                                      split_.caption_ids, {}, top_k_)});
    }
    return queries;
  }

  // The row of the split whose picture and caption stand at a place of the gallery.
  int64_t row_of(int64_t place) const { return split_.rows[static_cast<size_t>(place)]; }
  std::string caption(int64_t place) const { return source_->caption(row_of(place)); }

  DecodedImage picture(int64_t place) const {
    try {
      DecodeOptions options = loader_.decode;
      options.apply_exif_orientation = true;  // for people, whatever the model was given
      const Example example = source_->get(row_of(place));
      return decode_image(example.encoded, options);
    } catch (const Error& error) {
      log_warning(error.what());
      return {};
    }
  }

 private:
  SplitEmbeddings embed_queries(std::shared_ptr<const ExampleSource> queries) {
    LoaderOptions options = loader_;
    options.on_bad_sample = OnBadSample::kFail;
    return embed_split(*bench_.model, std::move(queries), bench_.tokenizer, options);
  }

  // Ids on the other side of all rows that share the row's id on this side.
  static std::vector<int64_t> partners(const std::vector<int64_t>& own,
                                       const std::vector<int64_t>& other, int64_t row) {
    std::set<int64_t> found;
    for (size_t i = 0; i < own.size(); ++i) {
      if (own[i] == own[static_cast<size_t>(row)]) found.insert(other[i]);
    }
    return {found.begin(), found.end()};
  }

  int64_t top_k_;
  Workbench bench_;
  std::shared_ptr<const ExampleSource> source_;
  LoaderOptions loader_;
  SplitEmbeddings split_;
};

Json side_json(const RetrievalSide& side) {
  Json out = Json::object();
  out["queries"] = side.queries;
  out["gallery"] = side.gallery;
  out["recall_at_1"] = side.recall_at_1;
  out["recall_at_5"] = side.recall_at_5;
  out["recall_at_10"] = side.recall_at_10;
  out["median_rank"] = side.median_rank;
  out["chance_at_1"] = side.chance_at_1;
  out["chance_at_5"] = side.chance_at_5;
  out["chance_at_10"] = side.chance_at_10;
  return out;
}

Json query_json(const Query& query, const Searcher& searcher) {
  Json out = Json::object();
  out["query"] = query.text;
  out["row"] = query.row < 0 ? Json(nullptr) : Json(query.row);
  out["rank"] = query.ranking.rank == 0 ? Json(nullptr) : Json(query.ranking.rank);
  Json hits = Json::array();
  for (const Hit& hit : query.ranking.hits) {
    Json one = Json::object();
    one["row"] = searcher.row_of(hit.row);
    one["score"] = hit.score;
    one["caption"] = searcher.caption(hit.row);
    if (query.row >= 0) one["right"] = hit.right;
    hits.push_back(std::move(one));
  }
  out["results"] = std::move(hits);
  return out;
}

std::string fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string side_line(const char* name, const RetrievalSide& side) {
  return concat(name, ": R@1 ", fixed(100 * side.recall_at_1, 1), " %, R@5 ",
                fixed(100 * side.recall_at_5, 1), " %, R@10 ", fixed(100 * side.recall_at_10, 1),
                " %, median rank ", fixed(side.median_rank, 1), " of ", side.gallery, "  (chance ",
                fixed(100 * side.chance_at_1, 1), ", ", fixed(100 * side.chance_at_5, 1), ", ",
                fixed(100 * side.chance_at_10, 1), " %)\n");
}

std::string query_lines(const Query& query, const Searcher& searcher) {
  std::string out = concat("\n", query.text);
  if (query.ranking.rank > 0) {
    out +=
        concat("  (right answer at rank ", query.ranking.rank, " of ", query.ranking.gallery, ")");
  }
  out += "\n";
  for (const Hit& hit : query.ranking.hits) {
    out += concat("  ", hit.right ? "* " : "  ", fixed(static_cast<double>(hit.score), 3), "  row ",
                  searcher.row_of(hit.row), "  ", searcher.caption(hit.row), "\n");
  }
  return out;
}

void write_contact_sheet(const fs::path& path, const std::vector<Query>& queries,
                         const Searcher& searcher) {
  std::vector<ContactRow> rows;
  for (const Query& query : queries) {
    ContactRow row;
    row.title = query.text;
    for (const Hit& hit : query.ranking.hits) {
      row.cells.push_back(
          {searcher.picture(hit.row),
           concat(fixed(static_cast<double>(hit.score), 3), " ", searcher.caption(hit.row)),
           hit.right});
    }
    rows.push_back(std::move(row));
  }
  write_png(path, draw_contact_sheet(rows).view());
}

int run(const FlagValues& values) {
  const fs::path folder = values.text("output_dir");
  if (folder.empty()) throw UsageError("--output_dir is missing: where should the results go?");
  use_threads(values);
  Searcher searcher(values);
  make_folders(folder);
  searcher.embed();
  const RetrievalMetrics metrics = searcher.metrics();
  std::vector<Query> for_pictures = searcher.text_queries(values.words("query"));
  for (Query& query : searcher.caption_queries(values.get<int64_t>("queries"))) {
    for_pictures.push_back(std::move(query));
  }
  const std::vector<Query> for_captions = searcher.image_queries(values.words("query_image"));

  Json results = Json::object();
  results["split"] = values.text("split");
  results["rows"] = metrics.rows;
  results["text_to_image"] = side_json(metrics.text_to_image);
  results["image_to_text"] = side_json(metrics.image_to_text);
  results["queries"] = Json::array();
  results["image_queries"] = Json::array();
  std::string text = concat(metrics.rows, " pairs of the ", values.text("split"), " split\n",
                            side_line("text to image", metrics.text_to_image),
                            side_line("image to text", metrics.image_to_text));
  for (const Query& query : for_pictures) {
    results["queries"].push_back(query_json(query, searcher));
    text += query_lines(query, searcher);
  }
  for (const Query& query : for_captions) {
    results["image_queries"].push_back(query_json(query, searcher));
    text += query_lines(query, searcher);
  }
  write_json(folder / "search_results.json", results);
  text += concat("\n", (folder / "search_results.json").string(), "\n");
  if (!for_pictures.empty()) {
    write_contact_sheet(folder / "contact_sheet.png", for_pictures, searcher);
    text += concat((folder / "contact_sheet.png").string(), "\n");
  }
  print(text);
  return 0;
}

}  // namespace

Command search_command() {
  return {
      "search",
      "Rank the pictures of a split for texts, or its captions for pictures: recall at 1, 5 and "
      "10, median rank, contact sheet.",
      "--model_name_or_path DIR --dataset_name SET --output_dir OUT [--query TEXT...] [--queries "
      "N]",
      &flags, &run};
}

}  // namespace cantilever
