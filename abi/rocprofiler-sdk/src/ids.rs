//! Internal correlation ids, which a thread and its signal handlers take from the same block.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many ids a thread takes at once, so that threads do not share a counter at each call.
const BLOCK: u64 = 1024;

/// The unit of a block's number. The bits below it count the ids that were requested from the block, including requests
/// after it was used up.
const NEXT: u64 = 1 << 16;

/// The next block that no thread has taken yet.
static NEXT_BLOCK: AtomicU64 = AtomicU64::new(0);

/// The ids of a thread: the number of its block and, in the bits below it, how many ids were requested from that block.
/// Both are in one word, because a signal handler may take ids between any two instructions.
pub struct Ids(Cell<u64>);

impl Ids {
    /// Returns the state of a thread that has no block yet.
    pub const fn new() -> Self {
        Self(Cell::new(BLOCK))
    }

    /// Returns an id that was not used in this process before: above 0.
    #[inline(always)]
    pub fn next(&self) -> u64 {
        let asked = self.ask();
        let (block, place) = (asked / NEXT, asked % NEXT);
        if place < BLOCK { block * BLOCK + place + 1 } else { self.next_block() }
    }

    /// Requests an id from the block. A signal handler that interrupts this never takes the same one.
    #[inline(always)]
    #[allow(unsafe_code, reason = "a cell that a signal handler uses, too, is changed by one instruction")]
    fn ask(&self) -> u64 {
        #[cfg(target_arch = "x86_64")]
        {
            let mut asked = 1;
            // SAFETY: the cell belongs to this thread. A signal arrives before or after the instruction.
            unsafe { std::arch::asm!("xadd [{}], {}", in(reg) self.0.as_ptr(), inout(reg) asked, options(nostack)) };
            asked
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            // SAFETY: the cell belongs to this thread, and is only accessed as an atomic while this runs.
            unsafe { AtomicU64::from_ptr(self.0.as_ptr()) }.fetch_add(1, Ordering::Relaxed)
        }
    }

    /// Returns the first id of a new block.
    #[cold]
    fn next_block(&self) -> u64 {
        let first = NEXT_BLOCK.fetch_add(NEXT, Ordering::Relaxed);
        // If a signal handler took a block in between, the rest of that one stays unused.
        self.0.set(first + 1);
        first / NEXT * BLOCK + 1
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
#[allow(unsafe_code, reason = "a signal handler, and the state of the thread that it interrupts")]
mod tests {
    use std::collections::HashSet;
    use std::ffi::c_int;
    use std::sync::atomic::compiler_fence;

    use super::*;

    /// The processor's flag that raises a signal after each instruction.
    const TRAP_FLAG: i64 = 1 << 8;

    struct Stepped {
        ids: Ids,
        /// The instruction after which the handler takes an id, the number of instructions so far, and that id.
        wanted: Cell<usize>,
        instructions: Cell<usize>,
        taken: Cell<u64>,
    }

    thread_local! {
        static STEPPED: Stepped = const {
            Stepped { ids: Ids::new(), wanted: Cell::new(0), instructions: Cell::new(0), taken: Cell::new(0) }
        };
    }

    extern "C" fn begin(_signal: c_int, _about: *mut libc::siginfo_t, state: *mut libc::ucontext_t) {
        // SAFETY: the kernel passes the state of the interrupted thread, which is this one.
        unsafe { (*state).uc_mcontext.gregs[libc::REG_EFL as usize] |= TRAP_FLAG };
    }

    /// The processor clears the flag for the handler itself.
    extern "C" fn step(_signal: c_int, _about: *mut libc::siginfo_t, state: *mut libc::ucontext_t) {
        STEPPED.with(|stepped| {
            stepped.instructions.set(stepped.instructions.get() + 1);
            if stepped.instructions.get() == stepped.wanted.get() {
                stepped.taken.set(stepped.ids.next());
                // SAFETY: as in `begin`.
                unsafe { (*state).uc_mcontext.gregs[libc::REG_EFL as usize] &= !TRAP_FLAG };
            }
        });
    }

    fn handle(signal: c_int, handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut libc::ucontext_t)) {
        // SAFETY: zeroes are valid in the structure, and the function is a handler of three arguments.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as usize;
            action.sa_flags = libc::SA_SIGINFO;
            assert_eq!(libc::sigaction(signal, &raw const action, std::ptr::null_mut()), 0);
        }
    }

    #[test]
    fn a_handler_after_any_instruction_gets_an_id_of_its_own() {
        handle(libc::SIGUSR1, begin);
        handle(libc::SIGTRAP, step);
        let mut seen = HashSet::new();
        STEPPED.with(|stepped| {
            for wanted in 1.. {
                let mut take = |id| assert!(seen.insert(id), "{id} was taken twice, with a handler after {wanted}");
                // Until the block is used up.
                while stepped.ids.0.get() % NEXT < BLOCK {
                    take(stepped.ids.next());
                }
                stepped.taken.set(0);
                stepped.instructions.set(0);
                stepped.wanted.set(wanted);
                // SAFETY: the signal has a handler.
                assert_eq!(unsafe { libc::raise(libc::SIGUSR1) }, 0);
                let id = stepped.ids.next();
                compiler_fence(Ordering::SeqCst);
                let handler_ran = stepped.instructions.get() >= wanted;
                // The handler takes an id in any case, if necessary after the call.
                while stepped.taken.get() == 0 {
                    compiler_fence(Ordering::SeqCst);
                }
                take(id);
                take(stepped.taken.get());
                if !handler_ran {
                    break;
                }
            }
        });
        assert!(seen.len() > 3 * BLOCK as usize);
    }
}
