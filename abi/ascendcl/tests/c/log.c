#include "check.h"

int main(void)
{
    ACL_APP_LOG(ACL_DEBUG, "first");
    ACL_APP_LOG(ACL_INFO, "second %d", 2);
    ACL_APP_LOG(ACL_WARNING, "third %d", 3);
    aclAppLog(ACL_ERROR, "there", "here.c", 7, "fourth %d and %.3f of %s", 4, 2.5, "x");
    /* More than the registers hold. */
    aclAppLog(ACL_ERROR, "there", "here.c", 8, "%d %ld %d %d %d %s %.1f %.1f %.1f %.1f %.1f %.1f %.1f %.1f %.1f %.1f %d", 1, 2L, 3, 4,
              5, "six", 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 7);
    aclAppLog((aclLogLevel)9, NULL, NULL, 0, NULL);
    aclAppLog(ACL_ERROR, NULL, NULL, 0, NULL);
    return 0;
}
