use opscope_model::Fidelity;
use tract_linalg::{Func, MmmDispatch, cache};

use crate::budget::guard;
use crate::operators;

/// Initializes the data that lives as long as the process: the tables of operators, of this crate and of tract, and
/// what tract finds out about the processor.
pub(super) fn prepare() {
    for fidelity in [Fidelity::Optimised, Fidelity::Exact] {
        operators::framework(fidelity);
    }
    MmmDispatch::native();
    // Any function works here, because all are in the same table.
    let _ = Func::Exp.ew_f32();
    cache::cache_info();
    cache::last_level_cache();
    #[cfg(target_arch = "x86_64")]
    tract_linalg::x86_64::fma_width::avx512_fma_units();
    let _ = guard::catch(|| ());
}
