// Why a bucket cannot be mounted, as one sentence: what, where, and what to do. No secrets.
#pragma once

#include <string>

#include "cache/s3/s3_client.h"

namespace winnow::s3 {

// A store that stumbles is waited for; one that is not there, or says no, is told of at once.
bool is_worth_waiting_for(const Failure& failure);

std::string refusal(const Failure& failure, const S3Options& options, const S3Location& location,
                    const std::string& where);

}  // namespace winnow::s3
