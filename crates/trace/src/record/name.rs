//! Texts that records refer to by number.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::sync::inside::is_inside;
use crate::sync::{Mutex, MutexGuard};

/// The number of a text: the message of a marker, the name of a counter. 0 is no text.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(transparent)]
pub struct NameId(pub u32);

/// The texts of this process with their numbers.
#[derive(Default)]
pub(crate) struct Names {
    texts: Vec<Arc<str>>,
    ids: HashMap<Arc<str>, NameId>,
}

static NAMES: Mutex<Option<Names>> = Mutex::new(None);

/// Called after each new name, before any call of [`intern`] returns it.
static ON_NEW_NAME: OnceLock<fn()> = OnceLock::new();

/// The last name for which `ON_NEW_NAME` was called.
static LAST_NOTIFIED: AtomicU32 = AtomicU32::new(0);

/// Returns the number of a text: a new one at the first call, the same one at every later call. It takes a lock, so
/// store the number if it is needed often. Texts are kept until the process ends: intern names, not data.
///
/// In a signal handler that interrupts another call of its thread it returns 0, which is no text.
pub fn intern(text: &str) -> NameId {
    if is_inside() {
        return NameId(0);
    }
    let id = lock().get_or_insert_default().intern(text);
    // The function is also called here if another thread made the name and has not called it yet.
    if id.0 > LAST_NOTIFIED.load(Ordering::Acquire)
        && let Some(on_new_name) = ON_NEW_NAME.get()
    {
        on_new_name();
        LAST_NOTIFIED.fetch_max(id.0, Ordering::Release);
    }
    id
}

/// Returns the text of a number, or `None` if no text has it.
pub fn name_text(id: NameId) -> Option<Arc<str>> {
    let index = (id.0 as usize).checked_sub(1)?;
    lock().as_ref()?.texts.get(index).cloned()
}

/// Returns every text with a number above this one, in the order of the numbers.
pub(crate) fn names_after(last: NameId) -> Vec<(NameId, Arc<str>)> {
    let names = lock();
    let texts = names.iter().flat_map(|names| names.texts.iter().skip(last.0 as usize).cloned());
    (last.0 + 1..).map(NameId).zip(texts).collect()
}

/// Sets the function that is called after each new name. Later calls have no effect.
pub(crate) fn set_on_new_name(function: fn()) {
    ON_NEW_NAME.get_or_init(|| function);
}

impl Names {
    /// Returns the number of a text.
    fn intern(&mut self, text: &str) -> NameId {
        if let Some(&id) = self.ids.get(text) {
            return id;
        }
        let text: Arc<str> = text.into();
        self.texts.push(Arc::clone(&text));
        let id = NameId(u32::try_from(self.texts.len()).expect("fewer than 2^32 names fit into memory"));
        self.ids.insert(text, id);
        id
    }
}

/// The locked names.
pub(crate) type Lock = MutexGuard<'static, Option<Names>>;

pub(crate) fn lock() -> Lock {
    NAMES.lock()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_keeps_its_number_and_is_found_again() {
        let first = intern("first text of this test");
        let second = intern("second text of this test");
        assert_ne!(first, second);
        assert_eq!(intern("first text of this test"), first);
        assert_eq!(name_text(second).as_deref(), Some("second text of this test"));
        assert!(names_after(NameId(0)).contains(&(first, "first text of this test".into())));
        assert_eq!(name_text(NameId(0)), None);
    }
}
