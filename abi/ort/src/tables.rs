//! The tables that the program gets: copies of the library's own, in which some functions are replaced.

use std::ffi::c_char;
use std::mem::offset_of;
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::OnceLock;

use opscope_border::loader::read_only_bytes_from;
use ort_sys::{OrtApi, OrtApiBase};

use crate::calls::Replacements;
use crate::interface::{SLOTS, interface};
use crate::messages::say;

/// What `OrtGetApiBase` returns to the program in place of the library's own struct, by slot.
static BASES: [OrtApiBase; SLOTS] = [base::<0>(), base::<1>(), base::<2>(), base::<3>()];

/// The functions that stand in for `OrtGetApiBase`, where the program looks it up in one library.
#[cfg(target_arch = "x86_64")]
static ENTRIES: [extern "C" fn() -> *const OrtApiBase; SLOTS] = [entry::<0>, entry::<1>, entry::<2>, entry::<3>];

/// The most functions that a table has. That of 1.31 has some 450.
const MOST_FUNCTIONS: usize = 2048;

/// Returns what the program gets instead of the library's table of interfaces.
pub fn base_of(slot: usize) -> *const OrtApiBase {
    &raw const BASES[slot]
}

/// Returns what the program gets instead of the library's function `OrtGetApiBase`.
#[cfg(target_arch = "x86_64")]
pub fn entry_of(slot: usize) -> extern "C" fn() -> *const OrtApiBase {
    ENTRIES[slot]
}

const fn base<const SLOT: usize>() -> OrtApiBase {
    OrtApiBase { GetApi: get_api::<SLOT>, GetVersionString: version::<SLOT> }
}

#[cfg(target_arch = "x86_64")]
extern "C" fn entry<const SLOT: usize>() -> *const OrtApiBase {
    base_of(SLOT)
}

unsafe extern "system" fn version<const SLOT: usize>() -> *const c_char {
    // SAFETY: the function is the library's own.
    interface(SLOT).map_or(ptr::null(), |known| unsafe { ((*known.base().as_ptr()).GetVersionString)() })
}

/// Returns the table of an interface, as the library's own function does.
unsafe extern "system" fn get_api<const SLOT: usize>(number: u32) -> *const OrtApi {
    let Some(known) = interface(SLOT) else { return ptr::null() };
    // SAFETY: the function is the library's own. For an interface that it does not have, it says so and returns null.
    let table = unsafe { ((*known.base().as_ptr()).GetApi)(number) };
    if table.is_null() {
        return table;
    }
    static COPIES: [OnceLock<Option<Copied>>; SLOTS] = [const { OnceLock::new() }; SLOTS];
    // A library has one table: that of its own version, which begins with those of all earlier ones.
    let copied = COPIES[SLOT].get_or_init(|| Copied::of(known.table(), &Replacements::of::<SLOT>()));
    match copied {
        Some(copied) if table == known.table() => copied.0.as_ptr(),
        _ => {
            say(format_args!(
                "interface {number} of {} is not observed: its table is not a constant",
                known.path.display()
            ));
            table
        }
    }
}

/// A table with replaced functions. It is never freed.
struct Copied(NonNull<OrtApi>);

// SAFETY: a table is never written once it is made.
unsafe impl Send for Copied {}
// SAFETY: as above.
unsafe impl Sync for Copied {}

impl Copied {
    /// Copies a table and replaces functions. Returns `None` if it is not in memory that is read-only.
    ///
    /// The number of functions in a table is known for some versions only, so the memory after the table is copied as
    /// well. No program reads that part, because it was compiled for an interface that the library has.
    fn of(table: *const OrtApi, replacements: &Replacements) -> Option<Self> {
        const WORD: usize = size_of::<usize>();
        let readable = read_only_bytes_from(table.cast())? / WORD;
        // The last function of 1.18, which every library here has.
        let least = offset_of!(OrtApi, SessionOptionsAppendExecutionProvider_VitisAI) / WORD + 1;
        if readable < least {
            return None;
        }
        // SAFETY: these words are read-only memory of a library that stays loaded.
        let words = unsafe { slice::from_raw_parts(table.cast::<usize>(), readable.min(MOST_FUNCTIONS)) };
        let mut copy = words.to_vec();
        for (offset, function) in replacements.functions() {
            copy[offset / WORD] = function;
        }
        NonNull::new(copy.leak().as_mut_ptr().cast()).map(Self)
    }
}
