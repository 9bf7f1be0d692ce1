use std::sync::{Arc, OnceLock};

/// A thread that calls buffers' callbacks. A slow callback delays the other buffers of its thread, and no others.
#[derive(Debug, Clone)]
pub struct CallbackThread {
    pub(crate) name: Arc<str>,
}

impl CallbackThread {
    /// The thread of all buffers that name no other.
    pub fn shared() -> Self {
        static SHARED: OnceLock<CallbackThread> = OnceLock::new();
        SHARED.get_or_init(|| Self::create("opscope-callbacks")).clone()
    }

    /// A thread of one's own. It starts with the first buffer that needs it.
    pub fn create(name: &str) -> Self {
        Self { name: name.into() }
    }
}
