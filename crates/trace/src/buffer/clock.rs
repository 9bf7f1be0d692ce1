use std::sync::OnceLock;

use opscope_clock::ClockPair;

/// Returns the moment from which ticks are counted, for [`Calibration`](opscope_clock::Calibration): that of the first
/// call, when the first buffer is created.
pub(super) fn first_clocks() -> ClockPair {
    static FIRST: OnceLock<ClockPair> = OnceLock::new();
    *FIRST.get_or_init(ClockPair::now)
}
