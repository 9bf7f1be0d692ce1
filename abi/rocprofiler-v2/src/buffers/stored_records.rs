//! Records as they wait in a buffer. Each begins with a check word that is computed from all others, so that an
//! overwritten record is recognised.
//!
//! Messages that are too long for a buffer are kept here. Their records contain numbers instead of pointers, so that a damaged record
//! leads nowhere.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicU64, Ordering};

use opscope_border::{Text, Unpadded};
use opscope_trace::{BufferId, Category, Mutex, MutexGuard, emit_by_id};

/// The category of these records in a buffer.
pub const CATEGORY: Category = Category(201);

/// The numbers of the record forms.
pub const MARKER: u16 = 1;
pub const DISPATCH: u16 = 2;
pub const ACTIVITY: u16 = 3;

/// The initial value of the check word, so that zeroes are not a valid record.
const SEED: u64 = 0x6f70_7363_6f70_6532;

/// A ROCTx call. Its message follows the words, unless it is longer than [`LONGEST_MESSAGE`].
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Marker {
    pub check: u64,
    /// The time of the call in ticks.
    pub begin: u64,
    pub external_id: u64,
    pub thread: u32,
    pub operation: u32,
    /// [`NO_MESSAGE`], [`MESSAGE_FOLLOWS`], or the number of a message that is kept until the record is delivered.
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
    /// The dispatch's number; 0 if it gets one when it is delivered.
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
const _: () = assert!(FIRST > MESSAGE_FOLLOWS);

/// The longest message that is stored in a buffer, in bytes, with its NUL. Such a record fits into every buffer.
const LONGEST_MESSAGE: usize = 256;
/// The words of a marker without its message.
pub const MARKER_WORDS: usize = 5;

/// The largest number of words in a record before its message, and in the message.
const HEAD_WORDS: usize = 6;
const MESSAGE_WORDS: usize = LONGEST_MESSAGE / 8;
/// The largest number of words in a record. It is odd: the check word, and pairs.
pub const MOST_WORDS: usize = 1 + HEAD_WORDS + MESSAGE_WORDS;

/// A mask for the word at each position. The masks are unrelated numbers.
const MASKS: [u64; HEAD_WORDS + MESSAGE_WORDS] = {
    let mut masks = [0; HEAD_WORDS + MESSAGE_WORDS];
    let (mut state, mut place) = (SEED, 0);
    while place < masks.len() {
        // SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        masks[place] = mixed ^ (mixed >> 31);
        place += 1;
    }
    masks
};

/// Computes the check word from a record's other words and its message, each an even number of words. Words that are 0
/// also count.
#[inline(always)]
pub fn check(words: &[u64], message: &[u64]) -> u64 {
    let (head, rest) = MASKS.split_at(HEAD_WORDS);
    SEED.wrapping_add(sum(words, head)).wrapping_add(sum(message, rest))
}

/// Multiplies two words at a time, each combined with the mask of its position, as wyhash does: a short record leaves
/// time for one multiplication per two words. Words that change places are combined with other masks, and one changed
/// bit changes half of the product's bits.
#[inline(always)]
fn sum(words: &[u64], masks: &[u64]) -> u64 {
    let product = |(words, masks): (&[u64; 2], &[u64; 2])| {
        let product = u128::from(words[0] ^ masks[0]) * u128::from(words[1] ^ masks[1]);
        product as u64 ^ (product >> 64) as u64
    };
    let pairs = words.as_chunks().0.iter().zip(masks.as_chunks().0);
    pairs.map(product).fold(0, u64::wrapping_add)
}

impl Marker {
    /// Emits a marker into a buffer. If that needs more than a write, passes its bytes to `slowly`, which emits them
    /// into the same buffer.
    #[inline]
    pub fn put(self, message: Text<'_>, buffer: BufferId, slowly: impl FnOnce(u16, &[u8])) {
        let Some(message) = message.given() else { return self.put_with::<0>(&[], NO_MESSAGE, buffer, slowly) };
        let bytes = message.to_bytes_with_nul();
        match bytes.len() {
            0..=16 => self.put_with::<2>(bytes, MESSAGE_FOLLOWS, buffer, slowly),
            17..=48 => self.put_with::<6>(bytes, MESSAGE_FOLLOWS, buffer, slowly),
            49..=LONGEST_MESSAGE => self.put_with::<32>(bytes, MESSAGE_FOLLOWS, buffer, slowly),
            _ if drop_if_interrupting(buffer, MARKER) => {}
            _ => self.put_with::<0>(&[], keep_message(message), buffer, slowly),
        }
    }

    /// Emits a marker whose message has at most `WORDS` words.
    #[inline(always)]
    fn put_with<const WORDS: usize>(
        self,
        message: &[u8],
        where_it_is: u64,
        buffer: BufferId,
        slowly: impl FnOnce(u16, &[u8]),
    ) {
        let text: [u64; WORDS] = std::array::from_fn(|index| word(message, index));
        let what = u64::from(self.thread) | u64::from(self.operation) << 32;
        let head = [self.begin, self.external_id, what, where_it_is];
        let check = check(&head, &text);
        put(MARKER, MarkerWords { check, head, text }, buffer, slowly);
    }
}

/// Returns a word of a text, with zeroes after its end. It reads whole registers from the text and writes nothing,
/// because memory that was just written in one size is slow to read in another.
#[inline(always)]
fn word(text: &[u8], index: usize) -> u64 {
    let length = text.len();
    let rest = text.get(index * 8..).unwrap_or_default();
    let one = |at: usize| u64::from(text[at]);
    let four = |bytes: [u8; 4]| u64::from(u32::from_ne_bytes(bytes));
    if rest.is_empty() {
        0
    } else if let Some(whole) = rest.first_chunk() {
        u64::from_ne_bytes(*whole)
    } else if let Some(last) = text.last_chunk() {
        u64::from_ne_bytes(*last) >> (8 * (8 - rest.len()))
    } else if let (Some(first), Some(last)) = (text.first_chunk(), text.last_chunk()) {
        four(*first) | four(*last) << (8 * (length - 4))
    } else {
        one(0) | one(length / 2) << (8 * (length / 2)) | one(length - 1) << (8 * (length - 1))
    }
}

/// A marker as a buffer stores it.
#[repr(C)]
#[derive(Clone, Copy)]
struct MarkerWords<const WORDS: usize> {
    check: u64,
    head: [u64; 4],
    text: [u64; WORDS],
}

// SAFETY: it consists of words.
#[allow(unsafe_code, reason = "the macro that asserts it takes no constants")]
unsafe impl<const WORDS: usize> Unpadded for MarkerWords<WORDS> {}

impl Dispatch {
    /// Emits a dispatch into a buffer, or passes its bytes to `slowly`.
    #[inline]
    pub fn put(self, buffer: BufferId, slowly: impl FnOnce(u16, &[u8])) {
        let mut words = [0, self.kernel, self.begin, self.end, self.grid, self.number, self.thread];
        words[0] = check(&words[1..], &[]);
        put(DISPATCH, words, buffer, slowly);
    }
}

impl Activity {
    /// Emits an activity into a buffer, or passes its bytes to `slowly`.
    #[inline]
    pub fn put(self, buffer: BufferId, slowly: impl FnOnce(u16, &[u8])) {
        let what = u64::from(self.domain) | u64::from(self.operation) << 32;
        let mut words = [0, self.begin, self.end, what, self.correlation, self.thread, self.kernel];
        words[0] = check(&words[1..], &[]);
        put(ACTIVITY, words, buffer, slowly);
    }
}

/// Emits words into a buffer, or passes their bytes to `slowly`.
#[inline(always)]
fn put<W: Unpadded>(form: u16, words: W, buffer: BufferId, slowly: impl FnOnce(u16, &[u8])) {
    if !emit_by_id(buffer, CATEGORY, form, words.as_bytes()) {
        // The words are copied, so that only this path takes their address; on the path above, they go from registers
        // into the buffer.
        put_copy(form, words, slowly);
    }
}

#[cold]
#[inline(never)]
fn put_copy<W: Unpadded>(form: u16, words: W, slowly: impl FnOnce(u16, &[u8])) {
    slowly(form, words.as_bytes());
}

/// In a signal handler that interrupts another call, drops the record that was to go into a buffer, and counts it.
/// Returns whether it did.
pub fn drop_if_interrupting(buffer: BufferId, form: u16) -> bool {
    opscope_trace::drop_if_interrupting(buffer, CATEGORY, form)
}

/// Frees the message of a record that no buffer accepts.
pub fn give_up(form: u16, bytes: &[u8]) {
    const MESSAGE: usize = 8 * (MARKER_WORDS - 1);
    let Some(word) = bytes.get(MESSAGE..MESSAGE + 8).filter(|_| form == MARKER) else { return };
    let number = word.try_into().map_or(NO_MESSAGE, u64::from_ne_bytes);
    if !matches!(number, NO_MESSAGE | MESSAGE_FOLLOWS) {
        drop(take_message(number));
    }
}

/// The id of the next record, across all kinds and buffers. No record has the id 0, because the vendor's plugins skip
/// such a record.
static NEXT_RECORD: AtomicU64 = AtomicU64::new(1);

/// Returns the id for a new record.
pub fn next_record() -> u64 {
    NEXT_RECORD.fetch_add(1, Ordering::Relaxed)
}

/// How many numbers a thread takes at once, so that threads do not share a counter at each dispatch.
const BLOCK: u64 = 256;
static NEXT_BLOCK: AtomicU64 = AtomicU64::new(1);

thread_local! {
    /// The next number of the thread's block, and the end of that block.
    static NUMBERS: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// Returns a new number for a dispatch or a copy. It is above 0, and was not used before.
pub fn next_number() -> u64 {
    let (mut next, mut end) = NUMBERS.get();
    if next == end {
        next = NEXT_BLOCK.fetch_add(BLOCK, Ordering::Relaxed);
        end = next + BLOCK;
    }
    NUMBERS.set((next + 1, end));
    next
}

/// The smallest number of a message.
pub const FIRST: u64 = 2;

static MESSAGES: Mutex<BTreeMap<u64, CString>> = Mutex::new(BTreeMap::new());

pub(super) fn lock_messages() -> MutexGuard<'static, BTreeMap<u64, CString>> {
    MESSAGES.lock()
}

/// Keeps a message until its record is delivered. Returns its number.
pub fn keep_message(message: &CStr) -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(FIRST);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    lock_messages().insert(number, message.to_owned());
    number
}

/// Takes the message with this number, if there is one.
pub fn take_message(number: u64) -> Option<CString> {
    lock_messages().remove(&number)
}
