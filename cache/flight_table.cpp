#include "cache/flight_table.h"

#include <algorithm>

namespace winnow {

FlightPtr FlightTable::board(const FileRef& file, Range asked, const std::function<Range()>& if_none,
                             Clock::time_point now, BytesWaiter waiter) {
  Bytes ready;
  {
    const std::lock_guard lock(mutex_);
    const FlightPtr found = covering(file, asked);
    if (!found) {
      auto flight = std::make_shared<Flight>(file, if_none(), now);
      flight->passengers_.push_back({asked, std::move(waiter)});
      flights_[value(file.id)].push_back(flight);
      return flight;
    }
    Flight& flight = *found;
    if (flight.state_ == Flight::State::kAloft) {
      const bool is_first = flight.passengers_.empty();
      flight.passengers_.push_back({asked, std::move(waiter)});
      if (!is_first) return nullptr;
      flight.waiting_since_ = now;
      return flight.begun_ ? nullptr : found;
    }
    flight.answered_.push_back(asked);
    ready = flight.bytes_.part(asked.offset - flight.range.offset, asked.size);
  }
  waiter(std::move(ready));
  return nullptr;
}

FlightPtr FlightTable::book(const FileRef& file, Range range, bool near, Prefetched done) {
  const std::lock_guard lock(mutex_);
  if (covering(file, range)) return nullptr;
  auto flight = std::make_shared<Flight>(file, range, near, std::move(done));
  flights_[value(file.id)].push_back(flight);
  return flight;
}

bool FlightTable::begin(const FlightPtr& flight, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(flight->begun_, true)) return false;
  if (flight->passengers_.empty()) flight->waiting_since_ = now;
  return true;
}

FlightTable::Clock::time_point FlightTable::waiting_since(const Flight& flight) const {
  const std::lock_guard lock(mutex_);
  return flight.waiting_since_;
}

FlightPtr FlightTable::covering(const FileRef& file, Range range) const {
  const auto of_file = flights_.find(value(file.id));
  if (of_file == flights_.end()) return nullptr;
  for (const FlightPtr& flight : of_file->second) {
    if (flight->range.covers(range) && flight->file.version == file.version) return flight;
  }
  return nullptr;
}

void FlightTable::land(const FlightPtr& flight, Result<Bytes> bytes) {
  std::vector<Flight::Passenger> passengers;
  {
    const std::lock_guard lock(mutex_);
    if (flight->state_ != Flight::State::kAloft) return;  // expired meanwhile
    passengers.swap(flight->passengers_);
    if (bytes) {
      flight->state_ = Flight::State::kLanded;
      flight->bytes_ = bytes.value();
      for (const auto& passenger : passengers) flight->answered_.push_back(passenger.asked);
    } else {
      remove(flight);
    }
  }
  for (auto& [asked, waiter] : passengers) {
    if (bytes) {
      waiter(bytes.value().part(asked.offset - flight->range.offset, asked.size));
    } else {
      waiter(bytes.error());
    }
  }
}

void FlightTable::retire(const FlightPtr& flight) {
  const std::lock_guard lock(mutex_);
  remove(flight);
}

void FlightTable::remove(const FlightPtr& flight) {
  flight->state_ = Flight::State::kGone;
  flight->bytes_ = {};
  const auto of_file = flights_.find(value(flight->file.id));
  if (of_file == flights_.end()) return;
  std::erase(of_file->second, flight);
  if (of_file->second.empty()) flights_.erase(of_file);
}

std::size_t FlightTable::expire(Clock::time_point waiting_since, std::error_code error) {
  std::vector<Flight::Passenger> passengers;
  std::vector<FlightPtr> late;  // let go of without the lock: the last to do so may call back
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, of_file] : flights_) {
      for (const FlightPtr& flight : of_file) {
        if (flight->state_ == Flight::State::kAloft && flight->waiting_since_ <= waiting_since)
          late.push_back(flight);
      }
    }
    for (const FlightPtr& flight : late) {
      std::move(flight->passengers_.begin(), flight->passengers_.end(), std::back_inserter(passengers));
      flight->passengers_.clear();
      remove(flight);
    }
  }
  for (auto& passenger : passengers) passenger.waiter(error);
  return passengers.size();
}

std::vector<Range> FlightTable::unanswered(const FlightPtr& flight) const {
  std::vector<Range> answered;
  {
    const std::lock_guard lock(mutex_);
    answered = flight->answered_;
  }
  std::sort(answered.begin(), answered.end(),
            [](const Range& a, const Range& b) { return a.offset < b.offset; });
  std::vector<Range> gaps;
  std::uint64_t at = flight->range.offset;
  for (const Range& range : answered) {
    if (range.offset > at) gaps.push_back({at, range.offset - at});
    at = std::max(at, range.end());
  }
  if (at < flight->range.end()) gaps.push_back({at, flight->range.end() - at});
  return gaps;
}

bool FlightTable::has_waiting_reader(SampleId id) const {
  const std::lock_guard lock(mutex_);
  const auto of_file = flights_.find(value(id));
  if (of_file == flights_.end()) return false;
  return std::any_of(of_file->second.begin(), of_file->second.end(),
                     [](const FlightPtr& flight) { return !flight->passengers_.empty(); });
}

std::size_t FlightTable::aloft() const {
  const std::lock_guard lock(mutex_);
  std::size_t count = 0;
  for (const auto& [id, of_file] : flights_) {
    count += std::count_if(of_file.begin(), of_file.end(),
                           [](const FlightPtr& flight) { return flight->state_ == Flight::State::kAloft; });
  }
  return count;
}

}  // namespace winnow
