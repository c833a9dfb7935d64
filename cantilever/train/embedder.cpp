#include "cantilever/train/embedder.h"

#include <ATen/ATen.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "cantilever/base/error.h"
#include "cantilever/data/batch_tensors.h"

namespace cantilever {
namespace {

// FNV-1a twice with different offsets: 128 bits, so that different pictures do not meet by chance.
std::pair<uint64_t, uint64_t> fingerprint(std::string_view bytes) {
  uint64_t a = 0xcbf29ce484222325U;
  uint64_t b = 0x9ae16a3b2f90404fU ^ bytes.size();
  for (const char byte : bytes) {
    a = (a ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
    b = (b ^ static_cast<unsigned char>(byte)) * 0x9fb21c651e98df25U;
  }
  return {a, b};
}

class Numbering {
 public:
  int64_t number(std::string_view bytes) {
    return known_.emplace(fingerprint(bytes), static_cast<int64_t>(known_.size())).first->second;
  }

 private:
  std::map<std::pair<uint64_t, uint64_t>, int64_t> known_;
};

void number_rows(const ExampleSource& source, const Batch& batch, Numbering& captions,
                 Numbering& images, SplitEmbeddings& result) {
  for (const int64_t row : batch.rows) {
    result.rows.push_back(row);
    const Example example = source.get(row);
    result.caption_ids.push_back(captions.number(example.caption));
    result.image_ids.push_back(images.number(std::string_view(
        reinterpret_cast<const char*>(example.encoded.data()), example.encoded.size())));
  }
}

}  // namespace

SplitEmbeddings embed_split(BridgeTowerForContrastiveLearning& model,
                            std::shared_ptr<const ExampleSource> source,
                            std::shared_ptr<const Tokenizer> tokenizer, LoaderOptions options,
                            const std::function<void(int64_t, int64_t)>& progress) {
  CANTILEVER_CHECK(source->size() > 0, "no rows to embed: ", source->description());
  options.shuffle = false;
  options.drop_last = false;
  BatchLoader loader(source, std::move(tokenizer), options);
  loader.seek(0, 0);
  const int64_t rows = source->size();
  const int64_t total = loader.batches_per_epoch();
  const c10::AutoGradMode no_grad(false);
  SplitEmbeddings result;
  Numbering captions, images;
  int64_t done = 0;
  for (int64_t index = 0; index < total; ++index) {
    const Batch& batch = loader.next();
    const BatchTensors inputs = to_tensors(batch);
    ForwardContext context;
    const ContrastiveOutput output =
        model.forward(inputs.pixel_values, inputs.input_ids, inputs.attention_mask, context);
    if (!result.text.defined()) {
      const int64_t width = output.text_embeds.size(1);
      result.text = at::empty({rows, width}, at::kFloat);
      result.image = at::empty({rows, width}, at::kFloat);
      result.cross = at::empty({rows, width}, at::kFloat);
    }
    result.text.narrow(0, done, batch.size).copy_(output.text_embeds);
    result.image.narrow(0, done, batch.size).copy_(output.image_embeds);
    result.cross.narrow(0, done, batch.size).copy_(output.cross_embeds);
    number_rows(*source, batch, captions, images, result);
    done += batch.size;
    if (progress) progress(index + 1, total);
  }
  CANTILEVER_ASSERT(done == rows);
  result.bad_samples = loader.bad_samples();
  return result;
}

}  // namespace cantilever
