//! Functions for single operators: there is no store of them, and no kernel that runs one without a model.

unsupported! {
    aclopSetModelDir
    aclopLoad
}
