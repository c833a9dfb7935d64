#include "cantilever/data/source/table_fingerprint.h"

#include "cantilever/base/file.h"
#include "cantilever/base/rng.h"

namespace cantilever {

uint64_t table_fingerprint(const std::filesystem::path& table, const TableOptions& options) {
  uint64_t sum = file_fingerprint(table);
  for (const std::string& text :
       {options.image_column, options.caption_column, options.image_root.string()}) {
    sum = mix_key(sum, text.size());
    for (const char byte : text) sum = mix_key(sum, static_cast<unsigned char>(byte));
  }
  return mix_key(sum, (options.confine ? 1 : 0) + (options.image_folder ? 2 : 0));
}

}  // namespace cantilever
