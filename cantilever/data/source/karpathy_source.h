#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cantilever/data/source/record_source.h"

namespace cantilever {

// The files dataset_coco.json, dataset_flickr30k.json and dataset_flickr8k.json of Karpathy's
// splits:
// {"images": [{"filename", "filepath" (COCO), "split", "sentences": [{"raw"}, ...]}, ...]}.

// By the first bytes: an object of "images" with "sentids".
bool is_karpathy_file(const std::filesystem::path& path);

// The splits that have pictures, of "train" (its own and "restval"), "validation" ("val"), "test".
// Throws Error when the file is damaged or an image is of another split.
std::vector<std::string> karpathy_splits(const std::filesystem::path& path);

// The captions of a split ("" for all) as rows, with their pictures.
std::shared_ptr<RecordSource> open_karpathy(const std::filesystem::path& path,
                                            const TableOptions& options, const std::string& split);

}  // namespace cantilever
