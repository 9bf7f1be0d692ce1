// What libascendcl adds to the vendor's dumps by callback.
#ifndef ACL_OPSCOPE_H
#define ACL_OPSCOPE_H

#include <stddef.h>
#include <stdint.h>

#include "acl_dump.h"

#ifdef __cplusplus
extern "C" {
#endif

// What a subscriber wants of what follows: everything, or no more of this file. With any other number it gets no more at all.
#define OPSCOPE_ACLDUMP_CONTINUE 0
#define OPSCOPE_ACLDUMP_SKIP     1

// Adds a callback that gets all pieces from now on, after the one of acldumpRegCallback and on the same thread, with a pointer of
// its own. As long as there is one, nothing is written to disk. Like the vendor's callback it gets what models dump for which
// aclmdlInitDump or aclInit's file ask.
ACL_FUNC_VISIBILITY aclError
opscope_acldump_subscribe(int32_t (*callback)(void* user, const acldumpChunk* chunk, int32_t len), void* user,
                          uint64_t* subscription);

// Delivers what is queued, and removes the callback, which is not called afterwards. In a callback it returns at once.
ACL_FUNC_VISIBILITY aclError opscope_acldump_unsubscribe(uint64_t subscription);

// Sets the most bytes of tensors in a piece, for models that are loaded afterwards: 1 to 128 MiB, which is the default. Other
// sizes become the nearest of these. The first piece of a file also has the header, whole.
ACL_FUNC_VISIBILITY void opscope_acldump_set_piece_size(size_t bytes);

// Sets how many bytes of pieces wait for callbacks or the disk, at most: 256 MiB unless it is set. A run waits while there is no room.
ACL_FUNC_VISIBILITY void opscope_acldump_set_queue_size(size_t bytes);

// What was delivered since the library was loaded.
typedef struct opscope_acldump_report
{
    size_t   size;              // set it to sizeof(opscope_acldump_report)
    uint64_t files;             // files whose last piece was delivered
    uint64_t incomplete_files;  // files that were begun, and get no last piece
    uint64_t chunks;
    uint64_t bytes;             // bytes of data in them
    uint64_t lost_chunks;       // pieces that neither a callback nor a file got
} opscope_acldump_report;

// Writes the report when everything that runs have dumped so far is delivered (in a callback: at once).
ACL_FUNC_VISIBILITY aclError opscope_acldump_get_report(opscope_acldump_report* report);

#ifdef __cplusplus
}
#endif

#endif
