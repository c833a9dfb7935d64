#include "cantilever/data/source/file_kinds.h"

#include <algorithm>
#include <array>
#include <fstream>

#include "cantilever/base/error.h"

namespace cantilever {
namespace {

namespace fs = std::filesystem;

std::string lower(std::string text) {
  for (char& byte : text) {
    if (byte >= 'A' && byte <= 'Z') byte = static_cast<char>(byte + 32);
  }
  return text;
}

std::string first_line(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return "";
  std::string line(4096, '\0');
  std::ifstream file(path);
  file.read(line.data(), static_cast<std::streamsize>(line.size()));
  line.resize(static_cast<size_t>(file.gcount()));
  line.resize(std::min(line.find('\n'), line.size()));
  return line;
}

template <size_t N>
bool one_of(std::string_view value, const std::array<std::string_view, N>& values) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

}  // namespace

FileKind file_kind_by_name(const fs::path& path) {
  constexpr std::array<std::string_view, 3> kParquet = {".parquet", ".geoparquet", ".gpq"};
  constexpr std::array<std::string_view, 3> kJson = {".jsonl", ".json", ".ndjson"};
  constexpr std::array<std::string_view, 14> kPictures = {".jpg", ".jpeg", ".png",  ".webp", ".gif",
                                                          ".bmp", ".tif",  ".tiff", ".jfif", ".jpe",
                                                          ".ppm", ".pgm",  ".pbm",  ".pnm"};
  const std::string name = lower(path.filename().string());
  const std::string extension = lower(path.extension().string());
  if (one_of(extension, kPictures)) return FileKind::kPicture;
  if (one_of(extension, kParquet)) return FileKind::kParquet;
  // Feather since version 2 is Arrow IPC; the reader names version 1.
  if (extension == ".arrow" || extension == ".feather") return FileKind::kArrow;
  if (one_of(extension, kJson)) return FileKind::kJson;
  if (extension == ".csv") return FileKind::kCsv;
  if (extension == ".tsv") return FileKind::kTsv;
  if (extension == ".token") return FileKind::kFlickr;
  if (extension == ".tar" || name.ends_with(".tar.gz") || extension == ".tgz") {
    return FileKind::kTar;
  }
  return unread_format(path).empty() ? FileKind::kOther : FileKind::kUnread;
}

FileKind file_kind(const fs::path& path) {
  const FileKind kind = file_kind_by_name(path);
  const bool text = kind == FileKind::kOther && lower(path.extension().string()) == ".txt";
  if (kind != FileKind::kCsv && !text) return kind;
  const std::string line = first_line(path);
  const bool comma = line.find(',') != std::string::npos;
  if (!comma && line.find('|') != std::string::npos) return FileKind::kBars;
  if (kind == FileKind::kCsv) return kind;
  const size_t tab = line.find('\t');
  if (tab != std::string::npos) {
    return line.substr(0, tab).find('#') == std::string::npos ? FileKind::kTsv : FileKind::kFlickr;
  }
  return comma ? FileKind::kCsv : FileKind::kOther;
}

const char* kind_name(FileKind kind) {
  switch (kind) {
    case FileKind::kParquet:
      return "Parquet";
    case FileKind::kArrow:
      return "Arrow IPC";
    case FileKind::kJson:
      return "JSON";
    case FileKind::kCsv:
    case FileKind::kBars:
      return "CSV";
    case FileKind::kTsv:
      return "TSV";
    case FileKind::kTar:
      return "WebDataset tar";
    case FileKind::kFlickr:
      return "Flickr8k lines";
    case FileKind::kPicture:
      return "pictures";
    default:
      return "another format";
  }
}

std::string unread_format(const fs::path& path) {
  const std::string extension = lower(path.extension().string());
  const std::string inner = lower(path.stem().extension().string());
  const bool compressed = extension == ".gz" || extension == ".zst" || extension == ".bz2" ||
                          extension == ".xz" || extension == ".lz4";
  if (compressed && inner == ".tar") {
    return extension == ".gz" ? "" : "a tar compressed otherwise than by gzip";
  }
  if (compressed) return "a compressed file";
  if (extension == ".zip") return "a zip archive";
  if (extension == ".7z" || extension == ".rar")
    return concat("a ", extension.substr(1), " archive");
  if (extension == ".xlsx" || extension == ".ods") return "a spreadsheet";
  if (extension == ".tfrecord") return "a TFRecord file";
  return "";
}

const char* read_formats() {
  return "Parquet (.parquet), Arrow IPC (.arrow, .feather, save_to_disk), JSON lines and JSON "
         "(.jsonl, "
         ".json), COCO captions and Karpathy's splits of them (.json), CSV and TSV (.csv, .tsv), "
         "Flickr8k (.token), WebDataset "
         "shards (.tar, .tar.gz), and image folders with metadata.csv, metadata.jsonl or "
         "metadata.parquet";
}

bool is_metadata_file(const fs::path& path) {
  const std::string name = path.filename().string();
  return name == "metadata.csv" || name == "metadata.jsonl" || name == "metadata.parquet";
}

}  // namespace cantilever
