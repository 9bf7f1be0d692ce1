use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{read, write};

/// A file descriptor that is readable while it is signalled: an `eventfd`. Under loom it also stores whether it is.
pub(crate) struct EventDescriptor {
    fd: OwnedFd,
    #[cfg(loom)]
    signalled: loom::sync::atomic::AtomicBool,
}

impl EventDescriptor {
    /// Makes a descriptor that is not signalled.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            fd: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            #[cfg(loom)]
            signalled: loom::sync::atomic::AtomicBool::new(false),
        })
    }

    /// Makes it readable.
    pub fn signal(&self) {
        #[cfg(loom)]
        self.signalled.store(true, loom::sync::atomic::Ordering::SeqCst);
        // The counter does not overflow, because callers signal only a descriptor that they have cleared.
        let _ = write(&self.fd, &1u64.to_ne_bytes());
    }

    /// Makes it unreadable.
    pub fn clear(&self) {
        #[cfg(loom)]
        self.signalled.store(false, loom::sync::atomic::Ordering::SeqCst);
        let _ = read(&self.fd, &mut [0; 8]);
    }

    #[cfg(all(test, loom))]
    pub fn is_signalled(&self) -> bool {
        self.signalled.load(loom::sync::atomic::Ordering::SeqCst)
    }
}

impl AsFd for EventDescriptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
