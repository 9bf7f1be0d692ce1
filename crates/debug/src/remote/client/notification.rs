use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use opscope_sys::{Condvar, Mutex};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::session::recursion::{self, Rule};
use crate::sync::{EventDescriptor, lock};

/// Notifies a client of events, by a descriptor and by a callback.
pub(super) struct Notification {
    descriptor: EventDescriptor,
    signal: Arc<CallbackSignal>,
    /// The thread that calls the callback.
    caller: Mutex<Option<JoinHandle<()>>>,
}

/// The signal for the thread that calls the callback.
#[derive(Default)]
struct CallbackSignal {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Whether the callback has to be called.
    is_due: bool,
    /// Whether the thread has to end.
    is_over: bool,
}

impl Notification {
    pub fn new() -> io::Result<Self> {
        Ok(Self { descriptor: EventDescriptor::new()?, signal: Arc::default(), caller: Mutex::default() })
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    /// Makes the descriptor unreadable.
    pub fn clear(&self) {
        self.descriptor.clear();
    }

    /// Makes the descriptor readable and requests a call of the callback.
    pub fn notify(&self) {
        self.descriptor.signal();
        lock(&self.signal.state).is_due = true;
        self.signal.changed.notify_all();
    }

    /// Starts the thread of a callback. The thread of an earlier one has ended by then.
    pub fn set_callback(&self, callback: Option<Box<dyn FnMut() + Send>>, rule: Rule) -> io::Result<()> {
        let mut caller = lock(&self.caller);
        self.end(caller.take());
        let Some(mut callback) = callback else { return Ok(()) };
        *lock(&self.signal.state) = State { is_due: self.is_signalled(), is_over: false };
        let signal = Arc::clone(&self.signal);
        let call = move || {
            while signal.wait() {
                recursion::inside(rule, &mut callback);
            }
        };
        *caller = Some(thread::Builder::new().name("opscope-debug-callback".into()).spawn(call)?);
        Ok(())
    }

    fn is_signalled(&self) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(&self.descriptor, PollFlags::IN)], Some(&now)).is_ok_and(|ready| ready > 0)
    }

    /// Ends the callback's thread.
    pub fn stop(&self) {
        let mut caller = lock(&self.caller);
        self.end(caller.take());
    }

    fn end(&self, caller: Option<JoinHandle<()>>) {
        let Some(caller) = caller else { return };
        lock(&self.signal.state).is_over = true;
        self.signal.changed.notify_all();
        if caller.thread().id() != thread::current().id() {
            let _ = caller.join();
        }
    }
}

impl CallbackSignal {
    /// Waits until the callback has to be called. Returns `false` if the thread has to end.
    fn wait(&self) -> bool {
        let mut state = lock(&self.state);
        while !state.is_due && !state.is_over {
            state = self.changed.wait(state);
        }
        state.is_due = false;
        !state.is_over
    }
}
