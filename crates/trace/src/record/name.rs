use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// A text that records refer to by number: the message of a marker, the name of a counter. 0 is no text.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(transparent)]
pub struct NameId(pub u32);

/// Every text that got a number in this process. Texts are never forgotten, so give numbers to names, not to data.
#[derive(Default)]
pub(crate) struct Names {
    texts: Vec<Arc<str>>,
    ids: HashMap<Arc<str>, NameId>,
}

static NAMES: Mutex<Option<Names>> = Mutex::new(None);

/// The number of a text, the same each time. Takes a lock: keep the number where it is needed often.
pub fn intern(text: &str) -> NameId {
    let (id, new) = lock().get_or_insert_default().intern(text);
    if new {
        crate::file::note_new_names();
    }
    id
}

/// The text behind a number; none where no text has it.
pub fn name_text(id: NameId) -> Option<Arc<str>> {
    let index = (id.0 as usize).checked_sub(1)?;
    lock().as_ref()?.texts.get(index).cloned()
}

/// Every text that has a number so far, in the order of the numbers.
pub fn all_names() -> Vec<(NameId, Arc<str>)> {
    names_after(NameId(0))
}

/// Every text that got its number after this one did.
pub(crate) fn names_after(last: NameId) -> Vec<(NameId, Arc<str>)> {
    let names = lock();
    let texts = names.iter().flat_map(|names| names.texts.iter().skip(last.0 as usize).cloned());
    (last.0 + 1..).map(NameId).zip(texts).collect()
}

impl Names {
    /// The number of a text, and whether it is new.
    fn intern(&mut self, text: &str) -> (NameId, bool) {
        if let Some(&id) = self.ids.get(text) {
            return (id, false);
        }
        let text: Arc<str> = text.into();
        self.texts.push(Arc::clone(&text));
        let id = NameId(u32::try_from(self.texts.len()).expect("fewer than 2^32 names fit into memory"));
        self.ids.insert(text, id);
        (id, true)
    }
}

/// The table, locked.
pub(crate) type Lock = MutexGuard<'static, Option<Names>>;

pub(crate) fn lock_for_fork() -> Lock {
    lock()
}

fn lock() -> Lock {
    // Nothing panics between two halves of a change, so a poisoned table is whole.
    NAMES.lock().unwrap_or_else(PoisonError::into_inner)
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
        assert!(all_names().contains(&(first, "first text of this test".into())));
        assert_eq!(name_text(NameId(0)), None);
    }
}
