//! Callback tracing of ROCTx.

use super::run_with_both_runtimes;

#[test]
fn callbacks_get_arguments_results_and_their_own_values() {
    run_with_both_runtimes("callbacks.c", &[]);
}
