// Linked into builds with ThreadSanitizer only.

// It takes the numbers of descriptors for those of one table; the life line's thread has a table of its own.
extern "C" const char* __tsan_default_suppressions() { return "race:winnow::LifeLine::run\n"; }
