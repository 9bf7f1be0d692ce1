/* A program that uses ROCTx, and says what it does. With FORCE it initializes tools itself. */
#include "sdk.h"

static void at_exit(void)
{
    printf("exit function\n");
    roctxMarkA("at exit");
}

int main(void)
{
    printf("main\n");
    fflush(stdout);
    atexit(at_exit);
#ifdef FORCE
    OK(rocprofiler_force_configure(NULL));
#endif
    roctxMarkA("first");
    roctxMarkA("second");
    printf("end of main\n");
    fflush(stdout);
    return 0;
}
