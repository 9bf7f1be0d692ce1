//! A file descriptor that is readable while something waits to be taken.

#[cfg(not(loom))]
mod real {
    use std::io;
    use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

    use rustix::event::{EventfdFlags, eventfd};
    use rustix::io::{read, write};

    /// An `eventfd`.
    pub(crate) struct Doorbell(OwnedFd);

    impl Doorbell {
        /// A bell that was not rung.
        pub fn new() -> io::Result<Self> {
            Ok(Self(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
        }

        /// Makes it readable.
        pub fn ring(&self) {
            // The counter cannot overflow: whoever rings knows that it was silent.
            let _ = write(&self.0, &1u64.to_ne_bytes());
        }

        /// Makes it unreadable.
        pub fn silence(&self) {
            let _ = read(&self.0, &mut [0; 8]);
        }
    }

    impl AsFd for Doorbell {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self.0.as_fd()
        }
    }
}

#[cfg(loom)]
mod real {
    use std::io;

    use loom::sync::atomic::{AtomicBool, Ordering};

    /// A flag.
    pub(crate) struct Doorbell(AtomicBool);

    impl Doorbell {
        pub fn new() -> io::Result<Self> {
            Ok(Self(AtomicBool::new(false)))
        }

        pub fn ring(&self) {
            self.0.store(true, Ordering::SeqCst);
        }

        pub fn silence(&self) {
            self.0.store(false, Ordering::SeqCst);
        }

        pub fn is_rung(&self) -> bool {
            self.0.load(Ordering::SeqCst)
        }
    }
}

pub(crate) use real::Doorbell;
