// What libascendcl adds to the vendor's dumps by callback.
#ifndef ACL_OPSCOPE_H
#define ACL_OPSCOPE_H

#include <stddef.h>
#include <stdint.h>

#include "acl_dump.h"

#ifdef __cplusplus
extern "C" {
#endif

// What a callback returns: whether it wants all further pieces, or no more pieces of this file. After any other number,
// it is not called again.
#define OPSCOPE_ACLDUMP_CONTINUE 0
#define OPSCOPE_ACLDUMP_SKIP     1

// Adds a callback that receives all pieces from now on, with its own pointer. It is called after the one of
// acldumpRegCallback, on the same thread. As long as there is a callback, nothing is written to disk. Like the vendor's
// callback, it receives the dumps that aclmdlInitDump or aclInit's file ask for.
ACL_FUNC_VISIBILITY aclError
opscope_acldump_subscribe(int32_t (*callback)(void* user, const acldumpChunk* chunk, int32_t len), void* user,
                          uint64_t* subscription);

// Delivers what is queued, and removes the callback, which is not called afterwards. Inside a callback, it returns
// immediately.
ACL_FUNC_VISIBILITY aclError opscope_acldump_unsubscribe(uint64_t subscription);

// Sets how many bytes of tensors a piece has at most, for models that are loaded afterwards: 1 to 128 MiB. The default
// is 128 MiB. Other sizes are replaced by the nearest of these. The first piece of a file also has the whole header.
ACL_FUNC_VISIBILITY void opscope_acldump_set_piece_size(size_t bytes);

// Sets how many bytes of pieces may wait for callbacks or the disk. The default is 256 MiB. A run waits while the
// queue is full.
ACL_FUNC_VISIBILITY void opscope_acldump_set_queue_size(size_t bytes);

// What was delivered since the library was loaded.
typedef struct opscope_acldump_report
{
    size_t   size;              // set it to sizeof(opscope_acldump_report)
    uint64_t files;             // files whose last piece was delivered
    uint64_t incomplete_files;  // files that were begun, and have no last piece
    uint64_t chunks;
    uint64_t bytes;             // bytes of data in them
    uint64_t lost_chunks;       // pieces that neither a callback nor a file received
} opscope_acldump_report;

// Waits until everything that runs have dumped so far is delivered, and then writes the report. Inside a callback,
// writes it immediately.
ACL_FUNC_VISIBILITY aclError opscope_acldump_get_report(opscope_acldump_report* report);

#ifdef __cplusplus
}
#endif

#endif
