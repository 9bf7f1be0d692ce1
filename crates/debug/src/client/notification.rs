use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::doorbell::Doorbell;
use crate::recursion::{self, Rule};
use crate::sync::lock;

/// That events wait, for whoever polls or is called back.
pub(super) struct News {
    bell: Doorbell,
    told: Arc<Told>,
    caller: Mutex<Option<JoinHandle<()>>>,
}

/// What the thread that calls the callback waits for.
#[derive(Default)]
struct Told {
    state: Mutex<State>,
    signal: Condvar,
}

#[derive(Default)]
struct State {
    news: bool,
    /// Whether the thread shall end.
    over: bool,
}

impl News {
    pub fn new() -> io::Result<Self> {
        Ok(Self { bell: Doorbell::new()?, told: Arc::default(), caller: Mutex::default() })
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    pub fn silence(&self) {
        self.bell.silence();
    }

    pub fn tell(&self) {
        self.bell.ring();
        lock(&self.told.state).news = true;
        self.told.signal.notify_all();
    }

    /// Starts the thread of a callback, when that of an earlier one has ended.
    pub fn set_callback(&self, callback: Option<Box<dyn FnMut() + Send>>, rule: Rule) -> io::Result<()> {
        let mut caller = lock(&self.caller);
        self.end(caller.take());
        let Some(mut callback) = callback else { return Ok(()) };
        *lock(&self.told.state) = State { news: self.is_rung(), over: false };
        let told = Arc::clone(&self.told);
        let call = move || {
            while told.wait() {
                recursion::inside(rule, &mut callback);
            }
        };
        *caller = Some(thread::Builder::new().name("opscope-debug-callback".into()).spawn(call)?);
        Ok(())
    }

    fn is_rung(&self) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(&self.bell, PollFlags::IN)], Some(&now)).is_ok_and(|ready| ready > 0)
    }

    /// Ends the callback's thread.
    pub fn stop(&self) {
        let mut caller = lock(&self.caller);
        self.end(caller.take());
    }

    fn end(&self, caller: Option<JoinHandle<()>>) {
        let Some(caller) = caller else { return };
        lock(&self.told.state).over = true;
        self.told.signal.notify_all();
        if caller.thread().id() != thread::current().id() {
            let _ = caller.join();
        }
    }
}

impl Told {
    /// Waits for news; `false` when it is over.
    fn wait(&self) -> bool {
        let mut state = lock(&self.state);
        while !state.news && !state.over {
            state = self.signal.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.news = false;
        !state.over
    }
}
