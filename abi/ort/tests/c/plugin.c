/* A library that is linked with ONNX Runtime and loaded by a program that is not: the binding of another language, such as Java's. */
#include "ort.h"

#ifdef __cplusplus
extern "C"
#endif
const OrtApiBase *plugin_entry(void);

const OrtApiBase *plugin_entry(void)
{
    return OrtGetApiBase();
}
