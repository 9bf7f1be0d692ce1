/* A program that includes both headers: it runs models, and is a consumer as well. */
#include "opscope.h"
#include "opscope_producer.h"

#include <stdio.h>

int opscope_attach_producer(opscope_producer_t *table)
{
    printf("version %d\n", (int)table->version);
    return OPSCOPE_ATTACHED;
}

int main(int argc, char **argv)
{
    opscope_session_t session;
    return argc == 2 && opscope_session_load(argv[1], NULL, &session) == OPSCOPE_OK ? 0 : 1;
}
