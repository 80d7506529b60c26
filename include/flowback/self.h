/* SPDX-License-Identifier: MIT */
/* A program's view of its own tracing, for C and C++: it starts, pauses and stops the recording of
 * itself, keeps snapshots, reads its counters, and names regions. Link flowback::self.
 *
 *   flowback_self_start(NULL);            // `flowback record` of this process, into perf.data
 *   flowback_region_begin("request");
 *   ...
 *   flowback_region_end();
 *   flowback_self_stop();                 // the file is complete
 *
 * Where nothing can be traced (no such hardware, no permission, no flowback) each call does nothing
 * and flowback_self_reason() says why, in the words of `flowback record`. A region then costs a few
 * nanoseconds. With FLOWBACK_SELF=off in the environment no call does anything.
 *
 * `flowback record --regions -- PROGRAM` records, in the emulator or by single steps, the regions
 * of a program and nothing else; then flowback_self_start needs no recorder of its own.
 *
 * Any thread may call; signal handlers may not. Functions that return int return 1 where it was
 * done, else 0. A forked child is recorded with its parent and directs nothing: its calls do
 * nothing, with a reason. What is recorded when the process ends is complete, however it ends.
 */
#ifndef FLOWBACK_SELF_H_
#define FLOWBACK_SELF_H_

#ifdef __cplusplus
extern "C" {
#endif

/* All zeros: this process, all threads, by whichever hardware there is, into perf.data. */
struct flowback_self_options {
  const char* output; /* the file; NULL: perf.data */
  /* Of `flowback record --engine`: one that records what runs already by the kernel's events. NULL:
   * hardware, whichever there is. */
  const char* engine;
  /* More options for `flowback record`, as {"-e", "cpu-clock:u", NULL}; NULL: none. */
  const char* const* arguments;
  const char* program; /* flowback's own; NULL: $FLOWBACK_PROGRAM, else flowback in PATH */
  /* Keep only this number of bytes of the latest trace, at each snapshot and at the end; 0: all. */
  unsigned long long snapshot_bytes;
  int this_thread;  /* not 0: of the calling thread alone, and those that it makes */
  int counters;     /* not 0: count events of each thread as well, for flowback_self_counters */
  int regions_only; /* not 0: records while a thread is in a region, and else not */
  int paused;       /* not 0: begins when flowback_self_resume is called */
};

/* Starts the recording and waits until it runs; 50 ms or so. `options` may be NULL. */
int flowback_self_start(const struct flowback_self_options* options);
/* Both wait until it is so. What tells of threads and mappings is recorded all the time. */
int flowback_self_pause(void);
int flowback_self_resume(void);
/* Keeps the latest trace, with snapshot_bytes. */
int flowback_self_snapshot(void);
/* Ends the recording and waits until its file is complete. The process's end does so as well. */
int flowback_self_stop(void);
/* 1: what runs now is recorded, as far as this process has a say in it. */
int flowback_self_is_recording(void);

struct flowback_self_counter {
  char name[32]; /* "page-faults" */
  unsigned long long value;
};
/* The counters of all that is recorded, as they are now, in the order of `flowback record --stat`.
 * Returns how many there are, and fills in the first `size`; 0: there is a reason. */
int flowback_self_counters(struct flowback_self_counter* counters, int size);

/* Why the calling thread's latest call that returned 0 did; "" where none did. The text is the
 * thread's until its next call. */
const char* flowback_self_reason(void);

/* A region of the calling thread. They nest, and each end is of the latest that was begun; ends too
 * many do nothing. `name` has to stay until the end: a literal. How often and how long each name
 * was there stands in the recording, for `flowback info`. */
void flowback_region_begin(const char* name);
void flowback_region_end(void);

/* What recorders look for: the calling thread's outermost region has begun, has ended. Not to be
 * called. */
void flowback_region_entered(const char* name);
void flowback_region_left(const char* name);

#ifdef __cplusplus
}
#endif

#endif
