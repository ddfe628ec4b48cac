/* Winnow's policies as a C interface, stable from version to version: what is here stays, new functions are
 * added at the end and WINNOW_POLICY_ABI counts up.
 *
 * Every function that can fail returns WINNOW_OK, WINNOW_REFUSED (the input; nothing has changed) or
 * WINNOW_FAILED (out of memory); winnow_last_error() then holds one sentence that names the field and what it
 * accepts. Functions that make a handle return NULL instead. Buffers belong to the caller and are read or
 * written in place; pointers that come back belong to the handle and hold until its next call. A handle is
 * used by one thread at a time; different handles are independent. Samples and positions count from 0. */
#ifndef WINNOW_POLICY_H
#define WINNOW_POLICY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WINNOW_POLICY_ABI 1
#if defined(__GNUC__)
#define WINNOW_API __attribute__((visibility("default")))
#else
#define WINNOW_API
#endif

enum { WINNOW_OK = 0, WINNOW_REFUSED = 1, WINNOW_FAILED = 2 };
enum { WINNOW_FLOAT32 = 1, WINNOW_FLOAT64 = 2 };

/* Numbers in either precision; data NULL: not given. */
typedef struct {
  const void* data;
  int64_t count;
  int32_t type;
} winnow_values;

WINNOW_API int32_t winnow_policy_abi(void);
WINNOW_API const char* winnow_last_error(void);    /* of this thread; "" if nothing failed yet */
WINNOW_API int64_t winnow_last_error_sample(void); /* the sample that was refused, or -1 */
WINNOW_API const char* winnow_policies(void);      /* all policies and their parameters, as JSON */

/* Random numbers, each call from a fresh generator of that seed. */
WINNOW_API int winnow_random_u64(uint64_t seed, int64_t count, uint64_t* out);
WINNOW_API int winnow_random_unit(uint64_t seed, int64_t count, double* out);
WINNOW_API int winnow_random_below(uint64_t seed, uint64_t bound, int64_t count, uint64_t* out);
WINNOW_API int winnow_random_shuffle(uint64_t seed, int64_t n, int64_t* order);
WINNOW_API int winnow_random_pick(uint64_t seed, const int64_t* ids, int64_t n, int64_t count, int64_t* out);
WINNOW_API uint64_t winnow_sub_seed(uint64_t seed, const uint64_t* parts, int64_t count);

/* IOWA: criteria, workload, thresholds, vote. A score of NaN is "no score". */
WINNOW_API int winnow_entropy(const double* p_target, int64_t n, double* score);
WINNOW_API int winnow_entropy_from_loss(const double* loss, int64_t n, double* score);
WINNOW_API int winnow_margin(const double* p_target, const double* p_other, int64_t n, double* score);
WINNOW_API int winnow_io(const double* load_time, const double* size, int64_t n, double alpha, double* score);
WINNOW_API int winnow_gradient_bound(const double* logits, int64_t n, int64_t classes, const int64_t* label,
                                     double* score);
WINNOW_API int winnow_quantile(const double* values, int64_t n, double q, double* value);
WINNOW_API int winnow_workload(const double* io_wait, const double* compute, int64_t epochs,
                               double io_bound_at, double* stall, const char** criteria /* joined by + */);
/* threshold: in the former one or NaN, out the new one. */
WINNOW_API int winnow_threshold(const double* scores, int64_t n, double beta, double gamma,
                                double equal_point, double* threshold, double* par);
/* votes: per sample; important: 1 or 0 per sample. lowest: category 1 is score <= threshold. */
WINNOW_API int winnow_vote(const double* const* scores, const double* thresholds, int64_t criteria, int64_t n,
                           int lowest, uint8_t* votes, uint8_t* important);

/* IOWA: buckets over scores the caller computes. `criteria` is like "entropy+margin+io". */
typedef struct winnow_buckets winnow_buckets;
typedef struct {
  const double* thresholds; /* per criterion; NaN before the first */
  const int64_t* out;       /* worst first */
  int64_t out_count;
  const int64_t* recalled; /* ascending */
  int64_t recalled_count;
  int32_t plateau;
} winnow_epoch_end;
WINNOW_API winnow_buckets* winnow_buckets_new(int64_t samples, const char* criteria, const char* parameters);
WINNOW_API void winnow_buckets_free(winnow_buckets* buckets);
WINNOW_API int winnow_buckets_trained(winnow_buckets* buckets, const int64_t* ids, int64_t count);
/* scores: one column of all samples per criterion; accuracy NaN: the epoch trained nothing. */
WINNOW_API int winnow_buckets_end_epoch(winnow_buckets* buckets, const double* const* scores, double accuracy,
                                        winnow_epoch_end* end);
WINNOW_API int winnow_buckets_list(const winnow_buckets* buckets, int waiting, int64_t* ids, int64_t* count);

/* IOWA: near duplicates. flat and digest may be NULL. */
typedef struct winnow_groups winnow_groups;
WINNOW_API int winnow_phash(const uint8_t* luma, int64_t count, uint64_t* hash, uint8_t* flat);
WINNOW_API winnow_groups* winnow_groups_new(const uint64_t* hash, const int64_t* label, const uint8_t* flat,
                                            const uint64_t* digest, int64_t n, const char* parameters);
WINNOW_API void winnow_groups_free(winnow_groups* groups);
WINNOW_API int winnow_groups_representatives(const winnow_groups* groups, int64_t* representative);
WINNOW_API int winnow_groups_rremove(const winnow_groups* groups, const int64_t* order, int64_t n,
                                     int64_t* kept, int64_t* count);
/* cached: one byte per sample. candidates: at most as many as samples. */
WINNOW_API int winnow_groups_candidates(const winnow_groups* groups, int64_t request, const uint8_t* cached,
                                        int64_t* candidates, int64_t* count);
WINNOW_API int winnow_groups_rrepeat(const winnow_groups* groups, const int64_t* requests, int64_t n,
                                     const uint8_t* cached, int64_t max_repeats, int64_t* delivered);

/* DPT. losses: sample i has those from offsets[i] to offsets[i + 1]. starts: room for as many as epochs. */
WINNOW_API int winnow_importance(const double* losses, const int64_t* offsets, int64_t n, const char* measure,
                                 double* importance);
WINNOW_API int winnow_rank(const double* values, int64_t n, int64_t* order);
WINNOW_API int winnow_partition(const int64_t* order, int64_t n, const char* layout, int64_t worker,
                                int64_t workers, const char* equalise, int64_t* part, int64_t* count);
WINNOW_API int winnow_interval_starts(int64_t epochs, int64_t warmup_epochs, int64_t interval_epochs,
                                      int64_t* starts, int64_t* count);

/* Online, Active Bias, Select via Proxy. loss NaN: never scored. epsilon NaN: the mean. */
WINNOW_API int winnow_online(const double* loss, int64_t n, int64_t epoch, int64_t epochs,
                             double pressure_start, double pressure_end, double* pressure,
                             double* probability);
WINNOW_API int winnow_active_bias(const double* history, const int64_t* offsets, int64_t n, double epsilon,
                                  double* weight);
WINNOW_API int winnow_coreset(const double* probability, int64_t n, int64_t classes, const char* parameters,
                              double* uncertainty, int64_t* chosen, int64_t* count);
WINNOW_API int winnow_draw(const double* weight, int64_t n, const double* draws, int64_t count,
                           int64_t* index);

/* Selectors of a batch, by name: adaselection, biggest_loser. grad and draws may be not given. */
typedef struct winnow_selector winnow_selector;
typedef struct {
  const int64_t* kept; /* positions in the batch, ascending */
  int64_t kept_count;
  int64_t due_after; /* a step is due after this many of them; 0: none yet */
} winnow_selection;
WINNOW_API winnow_selector* winnow_selector_new(const char* policy, const char* parameters);
WINNOW_API void winnow_selector_free(winnow_selector* selector);
WINNOW_API int winnow_selector_select(winnow_selector* selector, const winnow_values* loss,
                                      const winnow_values* grad, const winnow_values* draws,
                                      winnow_selection* selection);
WINNOW_API int winnow_selector_set_epoch(winnow_selector* selector, int64_t epoch);
/* What went into the last selection: alpha (row = method), method_loss, weights, reward, score, probability.
 */
WINNOW_API int winnow_selector_detail(const winnow_selector* selector, const char* name, int64_t row,
                                      const double** values, int64_t* count);
WINNOW_API int winnow_selector_method_selection(const winnow_selector* selector, int64_t row,
                                                const int64_t** ids, int64_t* count);
WINNOW_API int winnow_selector_carry(const winnow_selector* selector, int64_t* carry);
WINNOW_API int winnow_selector_save(winnow_selector* selector, const char** bytes, int64_t* size);
WINNOW_API int winnow_selector_load(winnow_selector* selector, const char* bytes, int64_t size);

/* Samplers and partitions of epochs, by name: uniform, iowa, online, active_bias, dpt. A sampler holds the
 * scores of its samples. settings: cross_entropy, alpha. */
typedef struct winnow_sampler winnow_sampler;
typedef struct {
  winnow_values p_target, p_other, loss, grad, load_time, size;
  const uint8_t* correct; /* 0 or 1 per id, or NULL */
  int32_t trained;        /* 0: scored only, no training event */
} winnow_facts;
typedef struct {
  const char* criteria; /* that voted, joined by +; "" if none */
  const double* thresholds;
  const int64_t* out; /* ascending */
  int64_t out_count;
  const int64_t* recalled; /* ascending */
  int64_t recalled_count;
  int64_t in_process_count;
  int64_t waiting_count;
  double stall; /* NaN before the workload was judged */
  int32_t io_bound;
  int32_t plateau;
} winnow_decision;
WINNOW_API winnow_sampler* winnow_sampler_new(const char* policy, int64_t samples, const char* parameters,
                                              const char* settings);
WINNOW_API void winnow_sampler_free(winnow_sampler* sampler);
WINNOW_API int winnow_sampler_report(winnow_sampler* sampler, const int64_t* ids, int64_t count,
                                     const winnow_facts* facts);
/* The same checks, without taking anything in. */
WINNOW_API int winnow_sampler_check(const winnow_sampler* sampler, const int64_t* ids, int64_t count,
                                    const winnow_facts* facts);
WINNOW_API int winnow_sampler_end_epoch(winnow_sampler* sampler, double io_wait, double compute,
                                        winnow_decision* decision);
/* groups and cached (one byte per sample) may be NULL. */
WINNOW_API int winnow_sampler_order(winnow_sampler* sampler, int64_t epoch, int64_t worker, int64_t workers,
                                    const char* equalise, const winnow_groups* groups, const uint8_t* cached,
                                    const int64_t** ids, int64_t* count);
WINNOW_API int winnow_sampler_bucket(const winnow_sampler* sampler,
                                     uint8_t* waiting); /* one byte per sample */
WINNOW_API int winnow_sampler_save(winnow_sampler* sampler, const char** bytes, int64_t* size);
WINNOW_API int winnow_sampler_load(winnow_sampler* sampler, const char* bytes, int64_t size);

#ifdef __cplusplus
}
#endif

#endif
