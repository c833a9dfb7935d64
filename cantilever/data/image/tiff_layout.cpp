#include "cantilever/data/image/tiff_layout.h"

#include <algorithm>
#include <array>
#include <string>

#include "cantilever/base/error.h"

namespace cantilever {
namespace {

enum Tag : uint32_t {
  kWidth = 256,
  kHeight = 257,
  kBitsPerSample = 258,
  kCompression = 259,
  kPhotometric = 262,
  kFillOrder = 266,
  kSamplesPerPixel = 277,
  kPlanar = 284,
  kColourMap = 320,
  kExtraSamples = 338,
  kSampleFormat = 339,
  kWindowsMediaPhoto = 0xbc01,
};

constexpr int64_t kOldJpeg = 6;
constexpr int64_t kNewJpeg = 7;
constexpr int64_t kYcbcr = 6;

enum class Order { kAny, kLittle, kBig };

// Samples of equal size, and the mode and raw mode that Pillow reads them as.
struct Known {
  Order order;
  int photometric;
  int sample_format;  // 1 unsigned, 2 signed, 3 floating point
  int fill_order;     // 2: the first pixel in the low bits
  int samples;
  int bits;
  std::string_view extra;  // one digit an extra sample, X for 999 (Corel Draw)
  std::string_view mode;
  std::string_view raw_mode;
};

constexpr Order kAny = Order::kAny;
constexpr Order kLittle = Order::kLittle;
constexpr Order kBig = Order::kBig;

constexpr auto kKnown = std::to_array<Known>({
    // White is zero.
    {kAny, 0, 1, 1, 1, 1, "", "1", "1;I"},
    {kAny, 0, 1, 2, 1, 1, "", "1", "1;IR"},
    {kAny, 0, 1, 1, 1, 2, "", "L", "L;2I"},
    {kAny, 0, 1, 2, 1, 2, "", "L", "L;2IR"},
    {kAny, 0, 1, 1, 1, 4, "", "L", "L;4I"},
    {kAny, 0, 1, 2, 1, 4, "", "L", "L;4IR"},
    {kAny, 0, 1, 1, 1, 8, "", "L", "L;I"},
    {kAny, 0, 1, 2, 1, 8, "", "L", "L;IR"},
    {kLittle, 0, 1, 1, 1, 16, "", "I;16", "I;16"},
    {kLittle, 0, 3, 1, 1, 32, "", "F", "F;32F"},
    {kBig, 0, 3, 1, 1, 32, "", "F", "F;32BF"},
    // Black is zero.
    {kAny, 1, 1, 1, 1, 1, "", "1", "1"},
    {kAny, 1, 1, 2, 1, 1, "", "1", "1;R"},
    {kAny, 1, 1, 1, 1, 2, "", "L", "L;2"},
    {kAny, 1, 1, 2, 1, 2, "", "L", "L;2R"},
    {kAny, 1, 1, 1, 1, 4, "", "L", "L;4"},
    {kAny, 1, 1, 2, 1, 4, "", "L", "L;4R"},
    {kAny, 1, 1, 1, 1, 8, "", "L", "L"},
    {kAny, 1, 2, 1, 1, 8, "", "L", "L"},
    {kAny, 1, 1, 2, 1, 8, "", "L", "L;R"},
    {kLittle, 1, 1, 1, 1, 12, "", "I;16", "I;12"},
    {kLittle, 1, 1, 1, 1, 16, "", "I;16", "I;16"},
    {kBig, 1, 1, 1, 1, 16, "", "I;16B", "I;16B"},
    {kLittle, 1, 1, 2, 1, 16, "", "I;16", "I;16R"},
    {kLittle, 1, 2, 1, 1, 16, "", "I", "I;16S"},
    {kBig, 1, 2, 1, 1, 16, "", "I", "I;16BS"},
    {kLittle, 1, 1, 1, 1, 32, "", "I", "I;32N"},
    {kLittle, 1, 2, 1, 1, 32, "", "I", "I;32S"},
    {kBig, 1, 2, 1, 1, 32, "", "I", "I;32BS"},
    {kLittle, 1, 3, 1, 1, 32, "", "F", "F;32F"},
    {kBig, 1, 3, 1, 1, 32, "", "F", "F;32BF"},
    {kAny, 1, 1, 1, 2, 8, "0", "L", "LX"},
    {kAny, 1, 1, 1, 2, 8, "1", "La", "La"},
    {kAny, 1, 1, 1, 2, 8, "2", "LA", "LA"},
    // RGB.
    {kAny, 2, 1, 1, 3, 8, "", "RGB", "RGB"},
    {kAny, 2, 1, 2, 3, 8, "", "RGB", "RGB;R"},
    {kAny, 2, 1, 1, 4, 8, "", "RGBA", "RGBA"},
    {kAny, 2, 1, 1, 4, 8, "0", "RGB", "RGBX"},
    {kAny, 2, 1, 1, 5, 8, "00", "RGB", "RGBXX"},
    {kAny, 2, 1, 1, 6, 8, "000", "RGB", "RGBXXX"},
    {kAny, 2, 1, 1, 4, 8, "1", "RGBA", "RGBa"},
    {kAny, 2, 1, 1, 5, 8, "10", "RGBA", "RGBaX"},
    {kAny, 2, 1, 1, 6, 8, "100", "RGBA", "RGBaXX"},
    {kAny, 2, 1, 1, 4, 8, "2", "RGBA", "RGBA"},
    {kAny, 2, 1, 1, 5, 8, "20", "RGBA", "RGBAX"},
    {kAny, 2, 1, 1, 6, 8, "200", "RGBA", "RGBAXX"},
    {kAny, 2, 1, 1, 4, 8, "X", "RGBA", "RGBA"},
    {kLittle, 2, 1, 1, 3, 16, "", "RGB", "RGB;16L"},
    {kBig, 2, 1, 1, 3, 16, "", "RGB", "RGB;16B"},
    {kLittle, 2, 1, 1, 4, 16, "", "RGBA", "RGBA;16L"},
    {kBig, 2, 1, 1, 4, 16, "", "RGBA", "RGBA;16B"},
    {kLittle, 2, 1, 1, 4, 16, "0", "RGB", "RGBX;16L"},
    {kBig, 2, 1, 1, 4, 16, "0", "RGB", "RGBX;16B"},
    {kLittle, 2, 1, 1, 4, 16, "1", "RGBA", "RGBa;16L"},
    {kBig, 2, 1, 1, 4, 16, "1", "RGBA", "RGBa;16B"},
    {kLittle, 2, 1, 1, 4, 16, "2", "RGBA", "RGBA;16L"},
    {kBig, 2, 1, 1, 4, 16, "2", "RGBA", "RGBA;16B"},
    // Palette.
    {kAny, 3, 1, 1, 1, 1, "", "P", "P;1"},
    {kAny, 3, 1, 2, 1, 1, "", "P", "P;1R"},
    {kAny, 3, 1, 1, 1, 2, "", "P", "P;2"},
    {kAny, 3, 1, 2, 1, 2, "", "P", "P;2R"},
    {kAny, 3, 1, 1, 1, 4, "", "P", "P;4"},
    {kAny, 3, 1, 2, 1, 4, "", "P", "P;4R"},
    {kAny, 3, 1, 1, 1, 8, "", "P", "P"},
    {kAny, 3, 1, 1, 2, 8, "0", "P", "PX"},
    {kAny, 3, 1, 1, 2, 8, "2", "PA", "PA"},
    {kAny, 3, 1, 2, 1, 8, "", "P", "P;R"},
    // CMYK.
    {kAny, 5, 1, 1, 4, 8, "", "CMYK", "CMYK"},
    {kAny, 5, 1, 1, 5, 8, "0", "CMYK", "CMYKX"},
    {kAny, 5, 1, 1, 6, 8, "00", "CMYK", "CMYKXX"},
    {kLittle, 5, 1, 1, 4, 16, "", "CMYK", "CMYK;16L"},
    {kBig, 5, 1, 1, 4, 16, "", "CMYK", "CMYK;16B"},
    // YCbCr and CIE L*a*b*.
    {kAny, 6, 1, 1, 1, 8, "", "L", "L"},
    {kAny, 6, 1, 1, 3, 8, "", "YCbCr", "YCbCr"},
    {kAny, 8, 1, 1, 3, 8, "", "LAB", "LAB"},
});

std::string extra_code(const std::vector<int64_t>& extra) {
  std::string code;
  for (const int64_t kind : extra) {
    code += kind >= 0 && kind <= 2 ? static_cast<char>('0' + kind) : kind == 999 ? 'X' : '?';
  }
  return code;
}

std::string joined(const std::vector<int64_t>& values) {
  std::string text;
  for (const int64_t value : values) text += concat(text.empty() ? "" : " ", value);
  return text.empty() ? "none" : text;
}

class LayoutReader {
 public:
  explicit LayoutReader(const TiffDirectory& directory) : directory_(directory) {}

  TiffLayout read() {
    CANTILEVER_CHECK(!directory_.has(kWindowsMediaPhoto),
                     "TIFF: it is a Windows Media Photo (JPEG XR), which is not read");
    read_size();
    read_compression();
    read_samples();
    choose();
    if (layout_.mode == "P" || layout_.mode == "PA") read_palette();
    return layout_;
  }

 private:
  int64_t number(uint32_t tag, int64_t otherwise) const {
    return directory_.number(tag).value_or(otherwise);
  }

  void read_size() {
    CANTILEVER_CHECK(directory_.has(kWidth) && directory_.has(kHeight),
                     "TIFF: broken or truncated; its directory at byte ", directory_.offset(),
                     " does not say how large the picture is");
    layout_.width = number(kWidth, 0);
    layout_.height = number(kHeight, 0);
  }

  void read_compression() {
    constexpr std::array<int64_t, 17> kCompressions = {
        1, 2, 3, 4, 5, 6, 7, 8, 32771, 32773, 32809, 32946, 34676, 34677, 34925, 50000, 50001};
    layout_.compression = number(kCompression, 1);
    CANTILEVER_CHECK(std::find(kCompressions.begin(), kCompressions.end(), layout_.compression) !=
                         kCompressions.end(),
                     "TIFF: compression ", layout_.compression, " is not read");
    // Of several values Pillow takes none.
    const auto photometric = directory_.numbers(kPhotometric);
    photometric_ = photometric && photometric->size() == 1 ? photometric->front() : 0;
    if (layout_.compression == kOldJpeg) photometric_ = kYcbcr;
  }

  void read_samples() {
    format_ = directory_.numbers(kSampleFormat).value_or(std::vector<int64_t>{1});
    if (std::all_of(format_.begin(), format_.end(), [&](auto f) { return f == format_[0]; })) {
      format_.resize(1);
    }
    bits_ = directory_.numbers(kBitsPerSample).value_or(std::vector<int64_t>{1});
    extra_ = directory_.numbers(kExtraSamples).value_or(std::vector<int64_t>{});
    const bool is_old_colour = layout_.compression == kOldJpeg && photometric_ == kYcbcr;
    int64_t samples = number(kSamplesPerPixel, is_old_colour ? 3 : 1);
    const bool has_colour = photometric_ == 2 || photometric_ == kYcbcr || photometric_ == 8;
    layout_.bands = has_colour ? 3 : photometric_ == 5 ? 4 : 1;
    layout_.is_planar = number(kPlanar, 1) == 2;
    if (layout_.is_planar && !extra_.empty() &&
        *std::max_element(extra_.begin(), extra_.end()) == 0) {
      // Planes of no meaning behind the others are left alone.
      samples -= static_cast<int64_t>(extra_.size());
      bits_.resize(bits_.size() - std::min(bits_.size(), extra_.size()));
      extra_.clear();
    }
    layout_.bands += static_cast<int64_t>(extra_.size());
    CANTILEVER_CHECK(samples >= 0 && samples <= 6, "TIFF: ", samples,
                     " samples a pixel, 1 to 6 are read");
    const auto wanted = static_cast<size_t>(samples);
    if (bits_.size() == 1 || wanted < bits_.size())
      bits_.resize(wanted, bits_.empty() ? 0 : bits_[0]);
    CANTILEVER_CHECK(bits_.size() == wanted, "TIFF: ", samples,
                     " samples a pixel, but the bits of ", bits_.size());
  }

  void choose() {
    const int64_t fill_order = number(kFillOrder, 1);
    const Known* known = find(fill_order);
    CANTILEVER_CHECK(known != nullptr, "TIFF: no combination that is read: photometric ",
                     photometric_, ", bits ", joined(bits_), ", extra samples ", joined(extra_),
                     ", sample format ", joined(format_), ", fill order ", fill_order,
                     directory_.little_endian() ? ", little-endian" : ", big-endian");
    layout_.mode = known->mode;
    layout_.raw_mode = known->raw_mode;
    for (const int64_t bits : bits_) layout_.bits_per_pixel += bits;
    if (layout_.is_compressed()) choose_unpacked(*find(1));
  }

  // libtiff turns bits round and numbers into native order.
  void choose_unpacked(const Known& known) {
    layout_.mode = known.mode;
    std::string_view raw = known.raw_mode;
    if (photometric_ == kYcbcr) {
      layout_.mode = "RGB";
      raw = layout_.compression == kNewJpeg && number(kPlanar, 1) == 1 ? "RGB" : "RGBX";
    } else if (raw == "I;16" || raw == "I;16B") {
      raw = "I;16N";
    } else if (raw.ends_with(";16L") || raw.ends_with(";16B")) {
      raw = raw.starts_with("RGBA")   ? "RGBA;16N"
            : raw.starts_with("RGBa") ? "RGBa;16N"
            : raw.starts_with("RGBX") ? "RGBX;16N"
            : raw.starts_with("CMYK") ? "CMYK;16N"
                                      : "RGB;16N";
    }
    layout_.unpacked = raw;
  }

  const Known* find(int64_t fill_order) const {
    const Order order = directory_.little_endian() ? kLittle : kBig;
    const std::string extra = extra_code(extra_);
    for (const Known& known : kKnown) {
      const bool same_bits =
          std::all_of(bits_.begin(), bits_.end(), [&](int64_t bits) { return bits == known.bits; });
      if ((known.order == kAny || known.order == order) && known.photometric == photometric_ &&
          format_.size() == 1 && format_[0] == known.sample_format &&
          known.fill_order == fill_order && static_cast<size_t>(known.samples) == bits_.size() &&
          same_bits && known.extra == extra) {
        return &known;
      }
    }
    return nullptr;
  }

  // All reds, all greens, all blues, in 16 bits.
  void read_palette() {
    const auto values = directory_.numbers(kColourMap);
    CANTILEVER_CHECK(values.has_value(), "TIFF: its palette is missing");
    const size_t colours = values->size() / 3;
    CANTILEVER_CHECK(colours <= layout_.palette.size(), "TIFF: a palette of ", colours,
                     " colours, 256 fit");
    for (size_t i = 0; i < values->size(); ++i) {
      const int64_t level = (*values)[i] >> 8;
      CANTILEVER_CHECK(level >= 0 && level <= 255, "TIFF: broken palette; entry ", i, " is ",
                       (*values)[i]);
      if (i < colours * 3) layout_.palette[i % colours][i / colours] = static_cast<uint8_t>(level);
    }
  }

  const TiffDirectory& directory_;
  TiffLayout layout_;
  int64_t photometric_ = 0;
  std::vector<int64_t> format_;
  std::vector<int64_t> bits_;
  std::vector<int64_t> extra_;
};

}  // namespace

TiffLayout read_tiff_layout(const TiffDirectory& directory) {
  return LayoutReader(directory).read();
}

}  // namespace cantilever
