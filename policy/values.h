// Numbers somebody else owns, in single or double precision, read without copying them.
#pragma once

#include <cstddef>
#include <span>

namespace winnow {

class Values {
 public:
  Values() = default;
  Values(std::span<const float> single) : single_(single.data()), size_(single.size()), given_(true) {}
  Values(std::span<const double> exact) : exact_(exact.data()), size_(exact.size()), given_(true) {}

  bool given() const { return given_; }
  std::size_t size() const { return size_; }
  double operator[](std::size_t i) const {
    return exact_ != nullptr ? exact_[i] : static_cast<double>(single_[i]);
  }

 private:
  const float* single_ = nullptr;
  const double* exact_ = nullptr;
  std::size_t size_ = 0;
  bool given_ = false;
};

}  // namespace winnow
