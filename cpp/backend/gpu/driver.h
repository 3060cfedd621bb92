/* What GPU code asks of a machine: one table of C functions. The simulator in this library gives one, and so does each
 * plugin, which may come from another compiler: nothing of C++ crosses this border, and the version is compared before
 * anything is called.
 *
 * Every function may be called from any thread. Those that return a status give LW_OK, or the first failure there was:
 * after LW_LOST a device answers nothing else. `error_text` explains the last failure that a device gave. What is
 * called on a stream happens later, in the order of the stream; only what is said to wait does so. */
#ifndef LATTICEWORK_DRIVER_H
#define LATTICEWORK_DRIVER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LW_DRIVER_VERSION 2u

typedef int32_t LwStatus;
enum {
  LW_OK = 0,
  LW_OUT_OF_MEMORY = 1, /* of the device, or pinned memory of the host; nothing was changed */
  LW_FAILED = 2,        /* a call that cannot be carried out, or a kernel that failed */
  LW_LOST = 3           /* the device cannot be used any more */
};

typedef struct LwStream LwStream;
typedef struct LwEvent LwEvent;
typedef struct LwGraph LwGraph;

typedef struct LwDeviceInfo {
  char name[64];
  uint64_t total_bytes, free_bytes;
  uint64_t l2_bytes;
  uint32_t compute_major, compute_minor; /* 0.0: none */
  uint32_t multiprocessors;
  uint32_t shared_bytes;     /* most that a block may ask for */
  uint32_t has_clock;        /* whether event_elapsed says anything */
  uint32_t has_clusters;     /* whether blocks reach each other's shared memory */
  uint32_t has_fast_doubles; /* whether float64 is the faster arithmetic */
} LwDeviceInfo;

typedef struct LwLaunch {
  uint32_t kernel; /* place in kernel_names */
  uint32_t blocks[3];
  uint32_t threads;      /* of a block, one dimension */
  uint32_t shared_bytes; /* of a block */
  const void* args;      /* read before the call returns */
  uint32_t args_bytes;
} LwLaunch;

typedef struct LwDriver {
  uint32_t version;
  uint32_t num_kernels;
  const char* const* kernel_names;
  const uint32_t* args_bytes; /* of each kernel */

  LwStatus (*count)(int32_t* devices);
  LwStatus (*describe)(int32_t device, LwDeviceInfo* info);
  const char* (*error_text)(int32_t device, LwStatus status);

  /* Memory of a device, aligned to 512 bytes and uninitialised; memory_free waits for all that the device was given. */
  LwStatus (*memory_get)(int32_t device, uint64_t bytes, void** memory);
  LwStatus (*memory_free)(int32_t device, void* memory);
  /* Null, but for drivers that watch accesses: from here on in the stream these bytes are nobody's (0), or somebody's
   * and hold nothing yet (1). Memory that was just got is somebody's. */
  LwStatus (*mark)(LwStream* stream, void* memory, uint64_t bytes, int32_t in_use);
  /* Memory of the host that copies read and write while the host goes on. */
  LwStatus (*pinned_get)(int32_t device, uint64_t bytes, void** memory);
  LwStatus (*pinned_free)(int32_t device, void* memory);

  LwStatus (*stream_make)(int32_t device, LwStream** stream);
  LwStatus (*stream_free)(LwStream* stream); /* after waiting for it */
  LwStatus (*stream_wait)(LwStream* stream); /* the host waits until all called before is done */

  LwStatus (*event_make)(int32_t device, LwEvent** event);
  LwStatus (*event_free)(LwEvent* event);
  LwStatus (*event_record)(LwEvent* event, LwStream* stream);
  LwStatus (*event_order)(LwStream* stream, LwEvent* event); /* the stream waits; of any device of this driver */
  LwStatus (*event_wait)(LwEvent* event);                    /* the host waits */
  LwStatus (*event_done)(LwEvent* event, int32_t* done);
  LwStatus (*event_elapsed)(LwEvent* from, LwEvent* to, double* seconds); /* both done */

  /* The memory of the host must stay as it is until the copy is done. */
  LwStatus (*upload)(LwStream* stream, void* to, const void* from, uint64_t bytes);
  LwStatus (*download)(LwStream* stream, void* to, const void* from, uint64_t bytes);
  LwStatus (*copy)(LwStream* stream, void* to, const void* from, uint64_t bytes);

  LwStatus (*launch)(LwStream* stream, const LwLaunch* launch);

  /* Between begin and end, what is called on the stream is noted and not done. A graph may be replayed often, on any
   * stream of its device, one replay after the other; arguments and addresses are those of the capture. */
  LwStatus (*capture_begin)(LwStream* stream);
  LwStatus (*capture_end)(LwStream* stream, LwGraph** graph);
  LwStatus (*graph_replay)(LwGraph* graph, LwStream* stream);
  LwStatus (*graph_free)(LwGraph* graph);
} LwDriver;

#ifdef __cplusplus
}
#endif

#endif
