//! The texts of names as C reads them. They are kept until the process ends, like the names.

use std::collections::HashMap;
use std::ffi::c_char;

use opscope::trace::{ForkRoom, HeldLocks, NameId, name_text};
use opscope_sys::{Mutex, MutexGuard};

use crate::border::KeptText;

static TEXTS: Mutex<Option<HashMap<NameId, KeptText>>> = Mutex::new(None);

/// Returns the text of a name.
pub(super) fn text_for_c(name: NameId) -> Option<*const c_char> {
    static ROOM: ForkRoom = ForkRoom::new(|| Box::new(HeldTexts(lock())));
    // Without memory for the registration, only a fork during a call is unsafe.
    let _ = ROOM.register();
    let known = lock().get_or_insert_default().get(&name).map(KeptText::as_ptr);
    known.or_else(|| {
        // The lock is not held here, because the name is looked up under another lock, which a fork may hold already.
        let text = KeptText::new(&name_text(name)?);
        Some(lock().get_or_insert_default().entry(name).or_insert(text).as_ptr())
    })
}

fn lock() -> MutexGuard<'static, Option<HashMap<NameId, KeptText>>> {
    TEXTS.lock()
}

/// The locked texts during a fork.
struct HeldTexts(#[expect(dead_code, reason = "it is held")] MutexGuard<'static, Option<HashMap<NameId, KeptText>>>);

impl HeldLocks for HeldTexts {
    fn reset_in_child(self: Box<Self>) {}
}
