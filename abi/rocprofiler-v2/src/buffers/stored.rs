//! Records as they wait in a buffer. Each begins with a word that is made of all others: a record that was overwritten is recognised.

use std::ffi::{CStr, CString, c_char};

use opscope_trace::{BufferId, Category, emit_by_id};

/// The category of these records in a buffer.
pub const CATEGORY: Category = Category(201);

/// The numbers of the forms.
pub const MARKER: u16 = 1;
pub const DISPATCH: u16 = 2;
pub const ACTIVITY: u16 = 3;

/// Begins the check word, so that zeroes are no record.
const SEED: u64 = 0x6f70_7363_6f70_6532;

/// A ROCTx call. Its message follows the words, unless it is longer than [`LONGEST_MESSAGE`].
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Marker {
    pub check: u64,
    /// Ticks.
    pub begin: u64,
    pub external_id: u64,
    pub thread: u32,
    pub operation: u32,
    /// [`NO_MESSAGE`], [`MESSAGE_FOLLOWS`], or a pointer to a message that belongs to the record.
    pub message: u64,
}

/// A dispatch.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Dispatch {
    pub check: u64,
    pub kernel: u64,
    pub begin: u64,
    pub end: u64,
    pub grid: u64,
    pub number: u64,
    pub thread: u64,
}

/// A dispatch or a copy, as an activity of a domain.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Activity {
    pub check: u64,
    pub begin: u64,
    pub end: u64,
    pub domain: u32,
    pub operation: u32,
    pub correlation: u64,
    pub thread: u64,
    /// The kernel; 0 for a copy.
    pub kernel: u64,
}

pub const NO_MESSAGE: u64 = 0;
pub const MESSAGE_FOLLOWS: u64 = 1;

/// The bytes of the longest message that lies in a buffer, its NUL included. Every buffer has room for such a record.
const LONGEST_MESSAGE: usize = 256;
const MARKER_WORDS: usize = size_of::<Marker>() / 8;

/// Returns the check word of a record's other words.
#[inline(always)]
pub fn check(words: &[u64]) -> u64 {
    words.iter().fold(SEED, |check, word| check.rotate_left(7) ^ word)
}

impl Marker {
    /// Puts a marker into a buffer, or hands its bytes to `slowly`, which knows the buffer.
    ///
    /// # Safety
    /// The message is NULL or a text that ends with NUL.
    #[inline]
    pub unsafe fn put(self, message: *const c_char, buffer: BufferId, slowly: impl FnOnce(u16, &[u8])) {
        let mut words = [0_u64; MARKER_WORDS + LONGEST_MESSAGE / 8];
        // SAFETY: the caller vouches for the text.
        let length = if message.is_null() { 0 } else { unsafe { CStr::from_ptr(message) }.count_bytes() + 1 };
        let mut used = MARKER_WORDS;
        words[4] = match length {
            0 => NO_MESSAGE,
            1..=LONGEST_MESSAGE => {
                // SAFETY: the text has `length` bytes with its NUL, and there is room for them behind the marker's words.
                unsafe {
                    let to = words.as_mut_ptr().add(MARKER_WORDS).cast::<c_char>();
                    std::ptr::copy_nonoverlapping(message, to, length);
                }
                used += length.div_ceil(8);
                MESSAGE_FOLLOWS
            }
            // SAFETY: the caller vouches for the text. The record owns the copy until it is delivered.
            _ => unsafe { CStr::from_ptr(message) }.to_owned().into_raw() as u64,
        };
        words[1] = self.begin;
        words[2] = self.external_id;
        words[3] = u64::from(self.thread) | u64::from(self.operation) << 32;
        words[0] = check(&words[1..used]);
        put(MARKER, &words[..used], buffer, slowly);
    }
}

impl Dispatch {
    /// Puts a dispatch into a buffer, or hands its bytes to `slowly`.
    #[inline]
    pub fn put(self, buffer: BufferId, slowly: impl FnOnce(u16, &[u8])) {
        let mut words = [0, self.kernel, self.begin, self.end, self.grid, self.number, self.thread];
        words[0] = check(&words[1..]);
        put(DISPATCH, &words, buffer, slowly);
    }
}

impl Activity {
    /// Puts an activity into a buffer, or hands its bytes to `slowly`.
    #[inline]
    pub fn put(self, buffer: BufferId, slowly: impl FnOnce(u16, &[u8])) {
        let what = u64::from(self.domain) | u64::from(self.operation) << 32;
        let mut words = [0, self.begin, self.end, what, self.correlation, self.thread, self.kernel];
        words[0] = check(&words[1..]);
        put(ACTIVITY, &words, buffer, slowly);
    }
}

#[inline(always)]
fn put(form: u16, words: &[u64], buffer: BufferId, slowly: impl FnOnce(u16, &[u8])) {
    // SAFETY: words have no padding.
    let bytes = unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) };
    if !emit_by_id(buffer, CATEGORY, form, bytes) {
        slowly(form, bytes);
    }
}

/// Takes back a message that a record owned.
///
/// # Safety
/// It is such a pointer, of a record whose check word is right, and is taken back once.
pub unsafe fn take_message(pointer: u64) -> CString {
    // SAFETY: as the caller promises: `Marker::put` made it.
    unsafe { CString::from_raw(pointer as *mut c_char) }
}
