//! The shell of every exported function. Calls that use the engine are counted, so that the child of a fork knows
//! whether it can also use the engine.

use opscope::trace::{ForkRoom, HeldLocks, interrupts_a_call};
use opscope_border::answer;
use opscope_sys::{Mutex, MutexGuard};

use super::opscope_status_t::{OPSCOPE_ERROR_INVALID_STATE, *};
use super::{Failure, opscope_status_t};

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

/// A call in progress that uses the engine.
pub struct EngineCall {
    /// The number of forks before it.
    forks: u64,
}

/// The calls of this process.
struct Calls {
    /// How many are in progress.
    active: usize,
    /// How many forks are between the first process and this one.
    forks: u64,
    /// Whether one of these forks happened during a call.
    lost: bool,
}

static CALLS: Mutex<Calls> = Mutex::new(Calls { active: 0, forks: 0, lost: false });

/// Begins a call that uses the engine. In the child of a fork, the call is refused if a thread was using the engine in
/// the parent, because the engine's locks may be held by threads that the child does not have.
pub fn use_engine() -> Result<EngineCall, Failure> {
    static ROOM: ForkRoom = ForkRoom::new(|| Box::new(HeldCalls(lock())));
    // Without memory for the registration, only a fork during a call is unsafe.
    let _ = ROOM.register();
    let mut calls = lock();
    if calls.lost {
        let text = "a thread was using the engine when this process was forked, so it cannot be used here; fork while no model is \
                    loaded or run, or run the model in a process that is started anew";
        return Err(Failure::new(OPSCOPE_ERROR_INVALID_STATE, text));
    }
    calls.active += 1;
    Ok(EngineCall { forks: calls.forks })
}

impl Drop for EngineCall {
    fn drop(&mut self) {
        let mut calls = lock();
        // If the process forked in a callback of the call, the call also returns in the child, where it is not counted.
        if calls.forks == self.forks {
            calls.active -= 1;
        }
    }
}

fn lock() -> MutexGuard<'static, Calls> {
    CALLS.lock()
}

/// The locked calls during a fork.
struct HeldCalls(MutexGuard<'static, Calls>);

impl HeldLocks for HeldCalls {
    fn reset_in_child(mut self: Box<Self>) {
        let Calls { active, forks, lost } = *self.0;
        *self.0 = Calls { active: 0, forks: forks + 1, lost: lost || active > 0 };
    }
}
