//! Threads that are interrupted by signals again and again.

use std::cell::Cell;
use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use opscope_trace::TraceError;

/// The action of a handler.
type Act = Box<dyn Fn()>;

thread_local! {
    /// The action of the handler on this thread; null for none.
    static ACT: Cell<*const Act> = const { Cell::new(ptr::null()) };
    static TIMER: Cell<libc::timer_t> = const { Cell::new(ptr::null_mut()) };
}

/// Interrupts the calling thread with signals until it is dropped. Each signal comes 20 µs after the previous handler.
pub struct Interruptions {
    timer: libc::timer_t,
    act: *mut Act,
}

/// Interrupts the thread of a timer soon, once. Between signals the thread continues, however long a handler takes.
fn interrupt_soon(timer: libc::timer_t) -> c_int {
    let never = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let once = libc::itimerspec { it_interval: never, it_value: libc::timespec { tv_sec: 0, tv_nsec: 20_000 } };
    // SAFETY: the timer exists, and the structure is the one that the call takes.
    unsafe { libc::timer_settime(timer, 0, &raw const once, ptr::null_mut()) }
}

impl Interruptions {
    pub fn begin(act: impl Fn() + 'static) -> Self {
        extern "C" fn handler(_: c_int) {
            // SAFETY: the variable is this thread's own.
            let errno = unsafe { *libc::__errno_location() };
            // SAFETY: it is null, or set by `begin` to an action that lives until `drop` has reset the pointer.
            if let Some(act) = unsafe { ACT.get().as_ref() } {
                act();
                interrupt_soon(TIMER.get());
            }
            // SAFETY: as above.
            unsafe { *libc::__errno_location() = errno };
        }
        let act: *mut Act = Box::into_raw(Box::new(Box::new(act)));
        ACT.set(act);
        let mut timer = MaybeUninit::uninit();
        // SAFETY: the structures are those that the calls take, and zeroes are valid in them.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as extern "C" fn(c_int) as usize;
            action.sa_flags = libc::SA_RESTART;
            assert_eq!(libc::sigaction(libc::SIGUSR1, &raw const action, ptr::null_mut()), 0);
            let mut event: libc::sigevent = std::mem::zeroed();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = libc::SIGUSR1;
            event.sigev_notify_thread_id = libc::gettid();
            assert_eq!(libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, timer.as_mut_ptr()), 0);
            TIMER.set(timer.assume_init());
            assert_eq!(interrupt_soon(timer.assume_init()), 0);
            Self { timer: timer.assume_init(), act }
        }
    }
}

impl Drop for Interruptions {
    fn drop(&mut self) {
        // A handler that runs later has no action, and so sets no timer.
        ACT.set(ptr::null());
        // SAFETY: the timer was created by `begin`, and is deleted only here.
        unsafe { libc::timer_delete(self.timer) };
        // SAFETY: `begin` made it, and no handler of this thread finds it any more.
        drop(unsafe { Box::from_raw(self.act) });
    }
}

/// Sends a thread a signal, with this function as its handler.
pub fn interrupt(thread: u32, handler: extern "C" fn(c_int)) {
    // SAFETY: zeroes are valid in the structure, the function is a handler, and the call sends a signal that has one.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_RESTART;
        assert_eq!(libc::sigaction(libc::SIGUSR2, &raw const action, ptr::null_mut()), 0);
        let sent = libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, libc::SIGUSR2);
        assert_eq!(sent, 0);
    }
}

/// Ends the process if a test does not end, because a thread that waits for itself cannot be ended in any other way.
pub fn guarded(test: impl FnOnce()) {
    let (done, ended) = channel::<()>();
    let guard = thread::spawn(move || {
        if ended.recv_timeout(Duration::from_secs(120)) == Err(RecvTimeoutError::Timeout) {
            eprintln!("a thread waits for what it holds itself");
            std::process::abort();
        }
    });
    test();
    drop(done);
    guard.join().expect("it does not panic");
}

/// The calls that were made, and their results.
#[derive(Default)]
pub struct Calls {
    made: AtomicU64,
    taken: AtomicU64,
    interrupted: AtomicU64,
}

impl Calls {
    /// Counts a call. Returns its number.
    pub fn next(&self) -> u64 {
        self.made.fetch_add(1, Ordering::Relaxed)
    }

    pub fn add(&self, calls: u64) {
        self.made.fetch_add(calls, Ordering::Relaxed);
    }

    pub fn note(&self, answer: &Result<(), TraceError>) {
        match answer {
            Ok(()) => self.taken.fetch_add(1, Ordering::Relaxed),
            Err(TraceError::Interrupted) => self.interrupted.fetch_add(1, Ordering::Relaxed),
            // A handler cannot panic: the thread may be in the allocator.
            Err(_) => std::process::abort(),
        };
    }

    pub fn made(&self) -> u64 {
        self.made.load(Ordering::Relaxed)
    }

    pub fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    pub fn interrupted(&self) -> u64 {
        self.interrupted.load(Ordering::Relaxed)
    }
}
