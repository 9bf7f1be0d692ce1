/* A shape that the user fixes, and that the model does not take. The argument is the model. */
#include "models.h"

int main(int count, char **arguments)
{
    CHECK(count == 2);
    aclrtContext context = begin();
    uint32_t model = 0;
    aclGetRecentErrMsg();
    CHECK(aclmdlLoadFromFile(arguments[1], &model) == (aclError)ACL_ERROR_GE_SHAPE_INVALID);
    CHECK(strstr(aclGetRecentErrMsg(), "input 'image' has the shape [batch, 1, 8, 8]") != NULL);
    end(context);
    return 0;
}
