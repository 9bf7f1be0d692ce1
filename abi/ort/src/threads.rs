//! The threads that the program chooses for its sessions. The library does not say how many it was told to use.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::thread::available_parallelism;

use opscope_sys::{Mutex, MutexGuard};

/// The address of session options of the program, which identifies them.
pub type OptionsHandle = usize;

/// The threads within an operator, by the options for which the program has set them.
static CHOSEN: Mutex<BTreeMap<OptionsHandle, NonZeroUsize>> = Mutex::new(BTreeMap::new());

/// Notes what the program has chosen; 0 is the library's default.
pub fn choose(options: OptionsHandle, threads: i32) {
    let threads = usize::try_from(threads).ok().and_then(NonZeroUsize::new);
    match threads {
        Some(threads) => lock().insert(options, threads),
        None => lock().remove(&options),
    };
}

/// Notes that options were copied.
pub fn copy(from: OptionsHandle, to: OptionsHandle) {
    let mut chosen = lock();
    if let Some(threads) = chosen.get(&from).copied() {
        chosen.insert(to, threads);
    }
}

/// Notes that options were released.
pub fn forget(options: OptionsHandle) {
    lock().remove(&options);
}

/// Returns the threads of a session with these options. By default the library uses every processor.
pub fn of(options: OptionsHandle) -> NonZeroUsize {
    let chosen = lock().get(&options).copied();
    chosen.unwrap_or_else(|| available_parallelism().unwrap_or(NonZeroUsize::MIN))
}

fn lock() -> MutexGuard<'static, BTreeMap<OptionsHandle, NonZeroUsize>> {
    CHOSEN.lock()
}
