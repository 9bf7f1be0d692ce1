use std::io;
use std::os::unix::net::UnixStream;

use opscope_clock::Sleeper;

use crate::sync::{EventDescriptor, Mutex, lock};

/// The means by which a [`Server`](super::Server) controls its thread.
pub(super) struct ServerControl {
    pending: Mutex<Pending>,
    /// Readable while something is pending.
    pub descriptor: EventDescriptor,
}

/// The requests to the thread.
#[derive(Default)]
pub(super) struct Pending {
    /// Connections from within this process.
    pub connect: Vec<UnixStream>,
    pub stop: bool,
}

impl ServerControl {
    pub fn new() -> io::Result<Self> {
        Ok(Self { pending: Mutex::default(), descriptor: EventDescriptor::new()? })
    }

    /// Asks the thread to serve a connection.
    pub fn connect(&self, stream: UnixStream) {
        lock(&self.pending).connect.push(stream);
        self.descriptor.signal();
    }

    /// Asks the thread to end.
    pub fn stop(&self) {
        lock(&self.pending).stop = true;
        self.descriptor.signal();
    }

    /// Returns the requests since the last call.
    pub fn take(&self) -> Pending {
        self.descriptor.clear();
        let mut pending = lock(&self.pending);
        Pending { connect: std::mem::take(&mut pending.connect), stop: pending.stop }
    }
}

impl Sleeper for ServerControl {
    fn wake_up(&self) {
        self.descriptor.signal();
    }
}
