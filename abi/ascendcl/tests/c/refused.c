/* Prints why a model is not loaded. refused MODEL */
#include "models.h"

int main(int argc, char **argv)
{
    uint32_t model = 0;
    CHECK(argc == 2);
    aclrtContext context = begin();
    printf("%d ", aclmdlLoadFromFile(argv[1], &model));
    puts(aclGetRecentErrMsg());
    end(context);
    return 0;
}
