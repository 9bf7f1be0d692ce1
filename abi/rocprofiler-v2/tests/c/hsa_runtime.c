/* A library with the name of an HSA runtime. */
int hsa_is_here = 1;
