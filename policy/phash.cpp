#include "policy/phash.h"

#include <cmath>
#include <numbers>

#include "policy/error.h"

namespace winnow {

const CosineBasis& cosine_basis() {
  static const CosineBasis basis = [] {
    CosineBasis made{};
    for (int u = 0; u < kHashSide; ++u) {
      const double scale = std::sqrt((u == 0 ? 1.0 : 2.0) / kLumaSide);
      for (int x = 0; x < kLumaSide; ++x) {
        made.row[u][x] = scale * std::cos(std::numbers::pi * (2 * x + 1) * u / (2 * kLumaSide));
      }
    }
    return made;
  }();
  return basis;
}

PerceptualHash perceptual_hash(std::span<const std::uint8_t> luma) {
  require_length("luma", luma.size(), kLumaSide * kLumaSide);
  return hash_luma(luma.data(), cosine_basis());
}

}  // namespace winnow
