#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace cantilever {

// TensorBoard event file: TFRecord framing with masked CRC-32C around tensorflow.Event messages.
// The name is events.out.tfevents.SECONDS.HOST.PID.N, so that two writers never share one (a file
// that already exists is never opened). Every record is flushed: a killed run loses none.
class EventFileWriter {
 public:
  explicit EventFileWriter(const std::filesystem::path& folder);
  ~EventFileWriter();
  EventFileWriter(const EventFileWriter&) = delete;
  EventFileWriter& operator=(const EventFileWriter&) = delete;

  void add_scalar(const std::string& tag, double value, int64_t step);
  void add_text(const std::string& tag, const std::string& text, int64_t step);
  // `png`: an encoded PNG of width x height.
  void add_image(const std::string& tag, std::span<const std::byte> png, int width, int height,
                 int64_t step);

  const std::filesystem::path& path() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cantilever
