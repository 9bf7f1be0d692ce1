//! A file descriptor that is readable while something waits to be taken.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{read, write};

/// An `eventfd`. For models it also keeps in mind whether it is rung.
pub(crate) struct Doorbell {
    fd: OwnedFd,
    #[cfg(loom)]
    rung: loom::sync::atomic::AtomicBool,
}

impl Doorbell {
    /// A bell that was not rung.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            fd: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            #[cfg(loom)]
            rung: loom::sync::atomic::AtomicBool::new(false),
        })
    }

    /// Makes it readable.
    pub fn ring(&self) {
        #[cfg(loom)]
        self.rung.store(true, loom::sync::atomic::Ordering::SeqCst);
        // The counter cannot overflow: whoever rings knows that it was silent.
        let _ = write(&self.fd, &1u64.to_ne_bytes());
    }

    /// Makes it unreadable.
    pub fn silence(&self) {
        #[cfg(loom)]
        self.rung.store(false, loom::sync::atomic::Ordering::SeqCst);
        let _ = read(&self.fd, &mut [0; 8]);
    }

    #[cfg(all(test, loom))]
    pub fn is_rung(&self) -> bool {
        self.rung.load(loom::sync::atomic::Ordering::SeqCst)
    }
}

impl AsFd for Doorbell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
