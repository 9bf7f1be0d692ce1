//! How the program finds the library: the exported functions.

#[cfg(target_arch = "x86_64")]
mod dlsym;
mod lookup;
mod system;

use std::panic::catch_unwind;
use std::ptr;

use ort_sys::OrtApiBase;

use self::lookup::{Entry, own_entry};
use crate::interface::slot_of;
use crate::tables::base_of;
use crate::variables::wanted;

/// Stands in for the function of the library: for programs that are linked with it. Returns the library's own table if
/// nothing is asked for.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub extern "C" fn OrtGetApiBase() -> *const OrtApiBase {
    catch_unwind(|| {
        let Some(Entry(entry)) = own_entry() else { return ptr::null() };
        // SAFETY: this is the library's own function.
        let base = unsafe { entry() };
        if wanted().is_nothing() {
            return base;
        }
        let known = ptr::NonNull::new(base.cast_mut());
        // SAFETY: the library's function has just returned it.
        known.and_then(|known| unsafe { slot_of(known) }).map_or(base, base_of)
    })
    .unwrap_or(ptr::null())
}
