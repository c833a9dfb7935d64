#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include "cantilever/base/cpus.h"
#include "cantilever/base/error.h"
#include "cantilever/base/file.h"
#include "cantilever/base/progress.h"
#include "cantilever/base/stop_signal.h"
#include "cantilever/cli/flag_tables.h"
#include "cantilever/cli/ordered_team.h"
#include "cantilever/cli/output.h"
#include "cantilever/cli/row_check.h"
#include "cantilever/cli/row_range.h"
#include "cantilever/cli/run_commands.h"
#include "cantilever/cli/set_summary.h"
#include "cantilever/cli/to_options.h"

namespace cantilever {
namespace {

namespace fs = std::filesystem;
using enum FlagType;
using Splits = std::map<std::string, std::shared_ptr<ExampleSource>>;

FlagGroup verify_flags() {
  return {
      "Verify",
      {
          own("split", kString, "null", "Only this split. Default: all of them."),
          own("rows", kString, "null",
              "Only these rows of each split: 0:1000, 7, or 0:4,7 (ends excluded)."),
          own("report", kString, "null",
              "File for a JSON line about every row (as `inspect` prints, without its files)."),
          own("json", kBool, "false", "The summary as one JSON object."),
          own("model_name_or_path", kString, "null",
              "Model folder: captions longer than --max_seq_length are counted, and the report has "
              "ids and pieces."),
          own("tokenizer_name", kString, "null", "Folder of the tokenizer, if not the model's."),
          own("dataloader_num_workers", kInt, "\"auto\"",
              "Threads; auto: as many as this process may use.")
              .or_word("auto")
              .at_least(0)
              .at_most(kMostThreads),
          own("seed", kInt, "42", "Of the 60/20/20 cut of a set without splits.").at_least(0),
      }};
}

const FlagTable& flags() {
  static const FlagTable table({verify_flags(), data_flags(), decode_flags(), common_flags()});
  return table;
}

// The report beside its place until it is whole.
class Report {
 public:
  explicit Report(const fs::path& path) : file_(path) {}

  void add(const std::string& split, const RowReport& row, const Tokenizer* tokenizer) {
    const auto known = [](bool is, auto value) { return is ? Json(value) : Json(nullptr); };
    Json line = Json::object();
    line["split"] = split;
    line["row"] = row.row;
    line["file"] = known(!row.file.empty(), row.file);
    line["status"] = row.good() ? "ok" : "bad";
    line["reason"] = known(!row.good(), row.reason);
    line["width"] = known(row.width > 0, row.width);
    line["height"] = known(row.height > 0, row.height);
    line["mode"] = known(!row.mode.empty(), row.mode);
    line["caption"] = row.caption ? Json(*row.caption) : Json(nullptr);
    for (const char* key : {"input_ids", "pieces", "truncated"}) line[key] = nullptr;
    if (tokenizer != nullptr && row.caption) {
      line["input_ids"] = row.input_ids;
      line["pieces"] = Json::array();
      for (const int32_t id : row.input_ids) line["pieces"].push_back(tokenizer->piece(id));
      line["truncated"] = row.truncated;
    }
    lines_ += dump_json(line, -1) + "\n";
    if (lines_.size() > kBuffer) flush();
  }

  void finish() {
    flush();
    file_.commit();
  }

 private:
  static constexpr size_t kBuffer = size_t{1} << 18;

  void flush() {
    file_.write(lines_);
    lines_.clear();
  }

  AtomicFile file_;
  std::string lines_;
};

class Verifier {
 public:
  explicit Verifier(const FlagValues& values) : values_(values) {
    check_.exif_orientation = exif_orientation(values);
    check_.decode.max_pixels = values.get<int64_t>("max_image_pixels");
    check_.all_captions = values.text("caption_choice") == "random";
    check_.max_seq_length = values.get<int64_t>("max_seq_length");
    const std::string model = values.text("model_name_or_path");
    const std::string tokenizer = values.text("tokenizer_name");
    if (!model.empty() || !tokenizer.empty()) {
      check_.tokenizer = Tokenizer::from_folder(tokenizer.empty() ? model : tokenizer);
    }
    const int asked = worker_count(values);
    threads_ = asked == kAutoWorkers ? allowed_cpus() : std::max(1, asked);
    splits_ = open_splits(to_source_options(values, values.get<uint64_t>("seed")));
    if (const std::string name = values.text("split"); !name.empty()) keep_split(name);
    if (const fs::path path = values.text("report"); !path.empty()) report_.emplace(path);
  }

  int run() {
    const StopSignal signals;
    for (const auto& [name, source] : splits_) {
      if (StopSignal::received() == 0) scan(name, *source);
    }
    if (report_) report_->finish();
    show_json(summary(), values_.flag("json"));
    if (const int signal = StopSignal::received(); signal != 0) return 128 + signal;
    return bad_ == 0 ? 0 : 1;
  }

 private:
  void keep_split(const std::string& name) {
    const auto found = splits_.find(name);
    std::string names;
    for (const auto& [split, source] : splits_) names += concat(names.empty() ? "" : ", ", split);
    CANTILEVER_CHECK(found != splits_.end(), "there is no ", quoted(name), " split, only ", names,
                     "; choose with --split");
    splits_ = Splits{*found};
  }

  void scan(const std::string& name, const ExampleSource& source) {
    const std::string range = values_.text("rows");
    const std::vector<int64_t> rows =
        range.empty() ? std::vector<int64_t>() : parse_rows(range, source.size());
    OrderedWork work;
    work.count = range.empty() ? source.size() : static_cast<int64_t>(rows.size());
    work.threads = threads_;
    work.window = int64_t{32} * threads_;
    std::vector<std::unique_ptr<RowChecker>> checkers;
    for (int i = 0; i < threads_; ++i) {
      checkers.push_back(std::make_unique<RowChecker>(source, check_));
    }
    std::vector<RowReport> reports(static_cast<size_t>(work.window));
    SplitSummary& summary = summaries_[name];
    Progress bar(concat("verifying ", name), work.count);
    work.make = [&](int64_t item, int64_t slot, int thread) {
      checkers[static_cast<size_t>(thread)]->check(
          range.empty() ? item : rows[static_cast<size_t>(item)],
          reports[static_cast<size_t>(slot)]);
    };
    work.take = [&](int64_t item, int64_t slot) {
      const RowReport& report = reports[static_cast<size_t>(slot)];
      summary.add(report, source.place(report.row));
      if (report_) report_->add(name, report, check_.tokenizer.get());
      bar.update(item + 1, summary.bad() == 0 ? "" : concat(summary.bad(), " bad"));
    };
    work.should_stop = [] { return StopSignal::received() != 0; };
    run_in_order(work);
    bar.finish();
    bad_ += summary.bad();
    wanted_ += work.count;
  }

  Json summary() const {
    Json out = Json::object();
    int64_t seen = 0;
    for (const auto& [name, split] : summaries_) {
      out[name]["source"] = splits_.at(name)->description();
      const Json told = split.to_json(check_.tokenizer != nullptr);
      for (const auto& [key, value] : told.items()) out[name][key] = value;
      seen += split.rows();
    }
    for (auto a = summaries_.begin(); a != summaries_.end(); ++a) {
      for (auto b = std::next(a); b != summaries_.end(); ++b) {
        const int64_t both = SplitSummary::shared_pictures(a->second, b->second);
        if (both > 0) out[concat("pictures_in_", a->first, "_and_", b->first)] = both;
      }
    }
    if (StopSignal::received() != 0) {
      out["stopped"] = concat("by signal ", StopSignal::received(), " after ", seen, " of ",
                              wanted_, " rows that were begun");
    }
    out["verdict"] = bad_ == 0 ? Json(concat("no bad row among ", seen))
                               : Json(concat(bad_, " of ", seen, " rows are bad"));
    return out;
  }

  const FlagValues& values_;
  RowCheckOptions check_;
  int threads_ = 1;
  Splits splits_;
  std::optional<Report> report_;
  std::map<std::string, SplitSummary> summaries_;
  int64_t bad_ = 0;
  int64_t wanted_ = 0;
};

int run(const FlagValues& values) {
  return Verifier(values).run();
}

}  // namespace

Command verify_command() {
  return {"verify",
          "Scan a data set before training: counts, sizes, formats, repeats, and every row that "
          "cannot be used, with the reason. Exit status 1 when there is one.",
          "--dataset_name SET [--split NAME] [--report FILE]", &flags, &run};
}

}  // namespace cantilever
