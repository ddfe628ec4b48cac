// The perceptual hash of a 32×32 luma image: one source for the host and for CUDA. Only + − × and
// comparisons after the basis is made, so both give the same bits. Decoding and resizing are the scorer's.
#pragma once

#include <cstdint>
#include <span>

#ifdef __CUDACC__
#define WINNOW_HOST_DEVICE __host__ __device__
#else
#define WINNOW_HOST_DEVICE
#endif

namespace winnow {

inline constexpr int kLumaSide = 32;
inline constexpr int kHashSide = 8;

struct PerceptualHash {
  std::uint64_t bits = 0;
  bool flat = false;  // nothing but one grey: such images compare by content, not by hash
};

// The first eight rows of the orthonormal DCT-II of 32 points.
struct CosineBasis {
  double row[kHashSide][kLumaSide];
};

const CosineBasis& cosine_basis();  // host; the scorer copies it to the device

// A coefficient in millionths, which is how far hashes look.
WINNOW_HOST_DEVICE inline std::int64_t millionths(double coefficient) {
  const double scaled = coefficient * 1e6;
  return static_cast<std::int64_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
}

WINNOW_HOST_DEVICE inline void low_frequencies(const std::uint8_t* luma, const CosineBasis& basis,
                                               std::int64_t* coefficients) {
  double rows[kLumaSide][kHashSide];
  for (int y = 0; y < kLumaSide; ++y) {
    for (int v = 0; v < kHashSide; ++v) {
      double sum = 0;
      for (int x = 0; x < kLumaSide; ++x) sum += luma[y * kLumaSide + x] * basis.row[v][x];
      rows[y][v] = sum;
    }
  }
  for (int u = 0; u < kHashSide; ++u) {
    for (int v = 0; v < kHashSide; ++v) {
      double sum = 0;
      for (int y = 0; y < kLumaSide; ++y) sum += basis.row[u][y] * rows[y][v];
      coefficients[u * kHashSide + v] = millionths(sum);
    }
  }
}

// The middle one of an odd number of values, by counting: no sort, no library, the same on the device.
WINNOW_HOST_DEVICE inline std::int64_t median_of(const std::int64_t* values, int count) {
  for (int i = 0; i < count; ++i) {
    int below = 0;
    int equal = 0;
    for (int j = 0; j < count; ++j) {
      below += values[j] < values[i];
      equal += values[j] == values[i];
    }
    if (below <= count / 2 && below + equal > count / 2) return values[i];
  }
  return 0;
}

WINNOW_HOST_DEVICE inline PerceptualHash hash_luma(const std::uint8_t* luma, const CosineBasis& basis) {
  constexpr int kCount = kHashSide * kHashSide;
  std::int64_t coefficients[kCount];
  low_frequencies(luma, basis, coefficients);
  const std::int64_t median = median_of(coefficients + 1, kCount - 1);
  PerceptualHash hash{0, true};
  for (int bit = 1; bit < kCount; ++bit) {
    if (coefficients[bit] > median) hash.bits |= std::uint64_t{1} << bit;
    if (coefficients[bit] != 0) hash.flat = false;
  }
  return hash;
}

PerceptualHash perceptual_hash(std::span<const std::uint8_t> luma);  // 1,024 values, row by row

}  // namespace winnow
