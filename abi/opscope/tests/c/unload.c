/* Loads the library by dlopen alone, uses it, and closes it, several times. Argument: the library. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef int (*mark_t)(const char *);
typedef const char *(*text_t)(void);

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    for (int i = 0; i < 3; i++) {
        void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        if (library == NULL) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        void *found[2] = {dlsym(library, "opscope_mark"), dlsym(library, "opscope_error_text")};
        mark_t mark;
        text_t text;
        memcpy(&mark, &found[0], sizeof mark);
        memcpy(&text, &found[1], sizeof text);
        if (found[0] == NULL || found[1] == NULL || mark("loaded") != 0 || mark(NULL) == 0)
            return 1;
        printf("%s\n", text());
        if (dlclose(library) != 0)
            return 1;
    }
    return 0;
}
