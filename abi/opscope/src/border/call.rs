use opscope::trace::interrupts_a_call;
use opscope_border::answer;

use super::Failure;
use super::opscope_status_t::{self, *};

/// In a signal handler that interrupts another call of this library, a function returns `OPSCOPE_ERROR_BUSY`
/// immediately, because the interrupted call may hold a lock that this one needs. The interrupted call may also be in
/// the allocator, so no text is stored either.
impl opscope_border::Failure for Failure {
    type Status = opscope_status_t;

    fn success() -> opscope_status_t {
        OPSCOPE_OK
    }

    fn panicked(text: &str) -> Self {
        Self::new(OPSCOPE_ERROR_INTERNAL, format!("opscope failed, which is a defect of opscope: {text}"))
    }

    fn report(self) -> opscope_status_t {
        self.keep()
    }

    fn refusal() -> Option<opscope_status_t> {
        interrupts_a_call().then_some(OPSCOPE_ERROR_BUSY)
    }
}

/// Runs the body of an exported function that also works in a signal handler which interrupts another call.
pub fn anywhere(body: impl FnOnce() -> Result<(), Failure>) -> opscope_status_t {
    answer(body)
}
