// Answers S3 requests for one bucket: ListObjectsV2 (and its predecessor), GET (whole, Range, If-Match),
// HEAD, PUT and DELETE of objects, HEAD of the bucket, GetBucketLocation. Path-style and virtual-host
// addressing alike.
#pragma once

#include <string>

#include "tests/support/origin/objects.h"
#include "tests/support/origin/request.h"
#include "tests/support/origin/signature.h"

namespace origin {

class Bucket {
 public:
  Bucket(std::string name, Account account) : name_(std::move(name)), account_(std::move(account)) {}

  Objects& objects() { return objects_; }
  Account& account() { return account_; }

  Answer answer(const Request& request, std::time_t now);

 private:
  Answer answer_bucket(const Request& request) const;
  Answer answer_object(const Request& request, const std::string& key);
  Answer list(const Request& request) const;
  Answer location() const;
  Answer get(const Request& request, const std::string& key) const;

  const std::string name_;
  Account account_;
  Objects objects_;
};

}  // namespace origin
