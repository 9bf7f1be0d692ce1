//! Functions for single operators. Operators cannot be loaded or run without a model here.

unsupported! {
    aclopSetModelDir
    aclopLoad
}
